/* This tests agent/stacks/unwind.c with tables that are made here. What a function does with its stack is
 * drawn, and so is how a table says it: encodings, opcodes, lengths of numbers, padding, the order of
 * entries. The rule of each address has to be what was drawn. Tables that are wrong in some way, or that say
 * what is no rule, have to give none. FXT_SEED names the tables. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "agent/stacks/unwind.h"
#include "apps/random.h"
#include "suite.h"
#include "unwind_rows.h"

enum { TABLES = 12000, LOOKS = 40, FUNCTIONS_MOST = 8, ROWS_MOST = 40 };

static struct function {
	uint64_t low, bytes;
	uint8_t *entry;
	struct row rows[ROWS_MOST];
	unsigned count;
	bool is_bad;
} functions[FUNCTIONS_MOST];

static bool is_multiple(int64_t value, int64_t low, int64_t high)
{
	return value >= low && value <= high && value % 8 == 0;
}

/* Returns what is to be found for code at which a row holds, and stores the rule. */
static enum fxt_unwind_found expected(const struct row *row, struct fxt_unwind_rule *rule)
{
	*rule = (struct fxt_unwind_rule){0};
	if (row->is_bad)
		return FXT_UNWIND_NONE;
	if (row->ret == NO_CALLER)
		return FXT_UNWIND_OUTERMOST;
	if (row->ret != STORED || row->ret_offset != -8)
		return FXT_UNWIND_NONE;
	if (row->cfa == CFA_LOADED && row->fp == AT_FP &&
	    is_multiple(row->cfa_offset, -RULE_MOST, RULE_MOST)) {
		*rule = (struct fxt_unwind_rule){(int32_t)row->cfa_offset, 0, true, true};
		return FXT_UNWIND_RULE;
	}
	if (row->cfa != CFA_SUM || (row->cfa_register != FP && row->cfa_register != SP) ||
	    !is_multiple(row->cfa_offset, 8, RULE_MOST))
		return FXT_UNWIND_NONE;
	if (row->fp != SAME && !(row->fp == STORED && is_multiple(row->fp_offset, -RULE_MOST, -16)))
		return FXT_UNWIND_NONE;
	rule->caller_sp = (int32_t)row->cfa_offset;
	rule->saved_fp = row->fp == STORED ? (int32_t)row->fp_offset : 0;
	rule->is_from_fp = row->cfa_register == FP;
	return FXT_UNWIND_RULE;
}

/* -- Entries --------------------------------------------------------------------------------------- */

enum { UDATA4 = 0x03, SDATA4 = 0x0b };
static const uint8_t formats[] = {0x00, UDATA4, 0x04, SDATA4, 0x0c};
static const uint8_t no_formats[] = {0x01, 0x02, 0x09, 0x0a, 0x0f};

static size_t bytes_of(unsigned format)
{
	return format == UDATA4 || format == SDATA4 ? 4 : 8;
}

/* Draws a format; one that is not known makes what has it bad. */
static unsigned draw_format(bool *is_bad)
{
	if (random_below(60))
		return formats[random_below(sizeof(formats))];
	*is_bad = true;
	return no_formats[random_below(sizeof(no_formats))];
}

/* Begins an entry; returns the place of its length. */
static uint8_t *begin_entry(uint32_t back)
{
	uint8_t *begin = at;

	put(0, 4);
	put(back, 4);
	return begin;
}

static void end_entry(uint8_t *begin)
{
	uint32_t bytes;

	while (random_below(4))
		put(0, 1);
	bytes = (uint32_t)(at - begin - 4);
	memcpy(begin, &bytes, 4);
}

static bool is_code_below;              /* the tables lie above the code */

/* Writes a common entry. */
static void put_common(void)
{
	static const int64_t data_aligns[] = {-8, -8, -8, 8, -4, 1};
	unsigned version = random_below(2) ? 1 : 3, personality = 0, i, count = 0;
	uint64_t return_register = RETURN;
	char letters[6] = "";
	uint8_t *begin, *length;

	memset(&common, 0, sizeof(common));
	common.place = at;
	common.code_align = random_below(3) ? 1 : 1 + random_below(4);
	common.data_align = data_aligns[random_below(sizeof(data_aligns) / sizeof(*data_aligns))];
	common.pointers = 0x10 | draw_format(&common.is_bad);
	/* That format has no negative numbers. */
	if (is_code_below && (common.pointers & 0x0f) == UDATA4)
		common.pointers = 0x10 | SDATA4;
	if (!random_below(40)) {
		common.pointers ^= 0x10 << random_below(3);
		common.is_bad = true;
	}
	if (!random_below(40)) {
		version = (unsigned)random_below(2) * 2 + 2 * (unsigned)random_below(2);
		common.is_bad = true;
	}
	if (!random_below(40)) {
		return_register = random_below(2) ? 15 : 17;
		common.is_bad = true;
	}
	common.has_length = random_below(60) != 0;
	begin = begin_entry(random_below(60) ? 0 : (common.is_bad = true));
	put(version, 1);
	for (i = (unsigned)random_below(3); common.has_length && i; i--)
		letters[count++] = "LP"[random_below(2)];
	if (random_below(60)) {
		i = (unsigned)random_below(count + 1);
		letters[count++] = letters[i];
		letters[i] = 'R';
	} else {
		common.is_bad = true;
	}
	if (!random_below(40)) {
		letters[count++] = "SBz"[random_below(3)];
		common.is_bad = true;
	}
	/* Without a letter z nobody can tell what the others stand for. */
	if (common.has_length)
		put('z', 1);
	else
		common.is_bad = true;
	memcpy(at, letters, sizeof(letters));
	at += strlen(letters) + 1;
	put_unsigned(common.code_align);
	put_signed(common.data_align);
	if (version == 1)
		put(return_register, 1);
	else
		put_unsigned(return_register);
	if (common.has_length) {
		length = at;
		put(0, 1);
		for (i = 0; i < count; i++) {
			if (letters[i] == 'R') {
				put(common.pointers, 1);
			} else if (letters[i] == 'P') {
				personality = draw_format(&common.is_bad);
				put(personality | 0x90, 1);
				put(random_number(60), bytes_of(personality));
			} else {
				put(random_below(256), 1);
			}
		}
		while (!random_below(4))
			put(random_below(256), 1);
		*length = (uint8_t)(at - length - 1);
	}
	common.initial = (struct row){.fp = SAME, .ret = LOST};
	/* Most are as a compiler begins: the call has pushed the return address. */
	if (random_below(8)) {
		put(0x0c, 1);
		put_unsigned(SP);
		put_unsigned(8);
		put(0x11, 1);
		put_unsigned(RETURN);
		put_signed(-8 / common.data_align);
		common.initial.cfa = CFA_SUM;
		common.initial.cfa_register = SP;
		common.initial.cfa_offset = 8;
		common.initial.ret = STORED;
		common.initial.ret_offset = -8;
	}
	if (!random_below(4))
		put_instructions(&common.initial, 1, 0, true);
	end_entry(begin);
}

/* Writes the entry of a function. */
static void put_function(struct function *function)
{
	uint8_t *begin = at, *field = at + 4, *here;
	struct row *last;
	uint64_t length;
	unsigned format = common.pointers & 0x0f;

	function->entry = begin;
	function->is_bad = common.is_bad;
	begin_entry((uint32_t)(field - common.place));
	here = at;
	put(function->low - (uintptr_t)here, bytes_of(format));
	put(function->bytes, bytes_of(format));
	if (common.has_length) {
		length = random_below(3) ? 0 : 4 + 4 * random_below(2);
		put_unsigned(length);
		for (; length; length--)
			put(random_below(256), 1);
	}
	function->rows[0] = common.initial;
	function->count = put_instructions(function->rows, ROWS_MOST, function->bytes, false);
	last = &function->rows[function->count - 1];
	/* The last instruction does not end with the entry, as it ought to. */
	if (!random_below(20)) {
		last->is_bad = true;
		put(0x0f, 1);                           /* def_cfa_expression */
		put_unsigned(100 + random_below(1000));
	}
	end_entry(begin);
}

/* -- Whole tables ---------------------------------------------------------------------------------- */

/* The header has 4 bytes, two numbers and its table. */
enum { HEADER_MOST = 4 + 8 + 8 + 8 * FUNCTIONS_MOST };

static struct fxt_unwind_tables tables;
static unsigned function_count, listed, rules, ends;
static bool is_all_bad;

/* Writes the header, whose table has the functions in the order of their addresses. */
static void put_header(void)
{
	unsigned section = draw_format(&is_all_bad), counts = draw_format(&is_all_bad), i;
	unsigned version = 1, table = 0x3b;

	tables.header = at;
	listed = function_count;
	switch (random_below(60)) {
	case 0:
		version = random_below(2) ? 0 : 2;
		is_all_bad = true;
		break;
	case 1:
		table = random_below(2) ? 0x1b : 0x3c;
		is_all_bad = true;
		break;
	case 2:
		section = 0xff;
		is_all_bad = true;
		break;
	case 3:
		listed = 1000000;
		is_all_bad = true;
		break;
	case 4: case 5:
		listed = (unsigned)random_below(function_count + 1);
	}
	put(version, 1);
	put(section == 0xff ? section : section | 0x10, 1);
	put(counts, 1);
	put(table, 1);
	if (section != 0xff)
		put(random_number(30), bytes_of(section));
	put(listed, bytes_of(counts));
	for (i = 0; i < function_count; i++) {
		put((uint64_t)(functions[i].low - (uintptr_t)tables.header), 4);
		put((uint64_t)(functions[i].entry - tables.header), 4);
	}
}

/* The section with the entries, in any order. What is wrong with it stands in the functions. */
static void put_entries(void)
{
	unsigned order[FUNCTIONS_MOST], i, other;

	for (i = 0; i < function_count; i++) {
		other = (unsigned)random_below(i + 1);
		order[i] = order[other];
		order[other] = i;
	}
	for (i = 0; i < function_count; i++) {
		if (i == 0 || !random_below(3))
			put_common();
		put_function(&functions[order[i]]);
	}
}

/* Makes some entry of a function one that says where it does not end, or where its common entry is not. */
static void spoil(void)
{
	struct function *function = &functions[random_below(function_count)];
	uint32_t field = 0;
	size_t place = 0;

	switch (random_below(6)) {
	case 0:
		field = 0;                              /* the end of the section */
		break;
	case 1:
		field = UINT32_MAX;                     /* a length of 8 bytes follows */
		break;
	case 2:
		field = (uint32_t)(tables.high - function->entry) - 4 + 1 + (uint32_t)random_below(8);
		break;
	case 3:
		place = 4;
		field = 0;                              /* a common entry */
		break;
	case 4:
		place = 4;                              /* a common entry below the segment */
		field = (uint32_t)(function->entry + 4 - tables.low) + 1 + (uint32_t)random_below(8);
		break;
	case 5:
		place = 4;                              /* this entry is not a common one */
		field = 4;
		break;
	}
	memcpy(function->entry + place, &field, 4);
	function->is_bad = true;
}

static void make(void)
{
	bool is_header_first = random_below(2);
	uint8_t *end;
	uint64_t low;
	unsigned i;

	memset(room, (int)random_below(256), ROOM);
	memset(functions, 0, sizeof(functions));
	is_all_bad = false;
	function_count = 1 + (unsigned)random_below(FUNCTIONS_MOST);
	is_code_below = random_below(2);
	low = (uintptr_t)room + (is_code_below ? -(UINT64_C(1) << 26) : ROOM) + random_number(24);
	for (i = 0; i < function_count; i++) {
		functions[i].low = low;
		functions[i].bytes = 1 + (random_below(4) ? random_below(100) : random_number(18));
		low += functions[i].bytes + (random_below(2) ? 0 : random_number(8));
	}
	at = room + random_below(64);
	tables = (struct fxt_unwind_tables){.low = at, .header = at};
	if (is_header_first)
		at += HEADER_MOST;
	put_entries();
	end = at;
	if (is_header_first)
		at = (uint8_t *)tables.low;
	put_header();
	tables.high = is_header_first ? end : at;
	if (!random_below(8))
		spoil();
}

static void look(uint64_t address)
{
	struct fxt_unwind_rule want = {0}, rule = {0};
	enum fxt_unwind_found right = FXT_UNWIND_NONE, found;
	const struct function *function = NULL;
	unsigned i;

	for (i = 0; i < function_count && i < listed; i++)
		if (functions[i].low <= address)
			function = &functions[i];
	if (!is_all_bad && function && !function->is_bad && address - function->low < function->bytes) {
		i = function->count;
		while (function->rows[i - 1].location > address - function->low)
			i--;
		right = expected(&function->rows[i - 1], &want);
	}
	found = fxt_unwind_rule(&tables, address, &rule);
	/* An assertion of Check writes something each time. */
	if (found != right ||
	    (found == FXT_UNWIND_RULE &&
	     (rule.caller_sp != want.caller_sp || rule.saved_fp != want.saved_fp ||
	      rule.is_from_fp != want.is_from_fp || rule.is_aligned != want.is_aligned)))
		ck_abort_msg("function %td + %#llx: %d (sp %d, fp %d, from fp %d, aligned %d) and not %d "
			     "(sp %d, fp %d, from fp %d, aligned %d)",
			     function ? function - functions : -1,
			     (unsigned long long)(function ? address - function->low : 0), found,
			     rule.caller_sp, rule.saved_fp, rule.is_from_fp, rule.is_aligned, right,
			     want.caller_sp, want.saved_fp, want.is_from_fp, want.is_aligned);
	rules += found == FXT_UNWIND_RULE;
	ends += found == FXT_UNWIND_OUTERMOST;
}

START_TEST(a_table_says_what_was_written)
{
	const struct function *function;
	unsigned round, n;
	uint64_t place;

	for (round = 0; round < TABLES; round++) {
		make();
		for (n = 0; n < LOOKS; n++) {
			function = &functions[random_below(function_count)];
			place = function->low;
			switch (random_below(6)) {
			case 0:
				place += function->bytes;
				break;
			case 1:
				place += random_below(function->bytes);
				break;
			case 2:
				place -= random_number(8);
				break;
			default:
				place += function->rows[random_below(function->count)].location;
				place += random_below(3) - 1;
			}
			look(place);
		}
	}
	printf("%u rules and %u ends of stacks in %u lookups\n", rules, ends, TABLES * LOOKS);
	ck_assert_uint_gt(rules, TABLES);
	ck_assert_uint_gt(ends, TABLES / 10);
}
END_TEST

/* -- Where the tables are -------------------------------------------------------------------------- */

enum { SEGMENTS_MOST = 8, SEGMENT_ROUNDS = 50000 };

/* Draws segments, of which one at most is the section, which lies anywhere. Returns the section, or NULL. */
static const Elf64_Phdr *draw_segments(Elf64_Phdr *segments, size_t count)
{
	static const Elf64_Word types[] = {PT_LOAD, PT_LOAD, PT_LOAD, PT_GNU_EH_FRAME, PT_NOTE, PT_DYNAMIC};
	uint64_t low = random_number(20);
	Elf64_Phdr *section = NULL, *s;

	for (s = segments; s < segments + count; s++) {
		*s = (Elf64_Phdr){.p_type = types[random_below(6)], .p_vaddr = low};
		s->p_flags = random_below(6) ? PF_R : PF_X;
		s->p_filesz = random_below(4) ? random_below(200) : 0;
		s->p_memsz = s->p_filesz + (random_below(2) ? 0 : random_below(100));
		low += s->p_memsz + (random_below(2) ? 0 : random_below(100));
		if (s->p_type == PT_GNU_EH_FRAME && section)
			s->p_type = PT_NOTE;
		else if (s->p_type == PT_GNU_EH_FRAME)
			section = s;
	}
	if (section)
		section->p_vaddr = segments[random_below(count)].p_vaddr + random_below(260);
	return section;
}

START_TEST(tables_are_found_by_segments)
{
	const Elf64_Phdr *section, *holder, *s;
	Elf64_Phdr segments[SEGMENTS_MOST];
	struct fxt_unwind_tables found;
	unsigned round, all = 0;
	uintptr_t bias;
	size_t count;

	for (round = 0; round < SEGMENT_ROUNDS; round++) {
		count = random_below(SEGMENTS_MOST + 1);
		bias = random_number(40);
		section = draw_segments(segments, count);
		holder = NULL;
		for (s = segments; section && s < segments + count; s++)
			if (s->p_type == PT_LOAD && s->p_flags == PF_R && section->p_vaddr >= s->p_vaddr &&
			    section->p_vaddr < s->p_vaddr + s->p_filesz)
				holder = s;
		if (fxt_unwind_find(segments, count, bias, &found) != (holder != NULL))
			ck_abort_msg("the section is %sin a segment", holder ? "" : "not ");
		if (!holder)
			continue;
		all++;
		if (found.header != (uint8_t *)(bias + section->p_vaddr) ||
		    found.low != (uint8_t *)(bias + holder->p_vaddr) ||
		    found.high != found.low + holder->p_filesz)
			ck_abort_msg("%p, %p to %p", (void *)found.header, (void *)found.low,
				     (void *)found.high);
	}
	ck_assert_uint_gt(all, SEGMENT_ROUNDS / 100);
}
END_TEST

static void setup(void)
{
	random_seed(0);
}

int main(void)
{
	TCase *tests = tcase_create("unwind tables");

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_test(tests, a_table_says_what_was_written);
	tcase_add_test(tests, tables_are_found_by_segments);
	return RUN_SUITE("unwind tables", tests);
}
