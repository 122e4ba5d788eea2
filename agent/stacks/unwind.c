/* Reads unwind tables: see unwind.h. Only code.c calls this, for an address that is met for the first
 * time. */
#include "unwind.h"

#include <stddef.h>

#include "table_cursor.h"

/* The numbers that DWARF gives to the registers of x86_64. */
enum { REGISTER_FP = 6, REGISTER_SP = 7, REGISTER_RETURN = 16 };

/* Pointer encodings (DW_EH_PE_*): a format in the low half, and what the number is relative to. */
enum {
	FORMAT_ADDRESS = 0x00,
	FORMAT_UDATA4 = 0x03,
	FORMAT_UDATA8 = 0x04,
	FORMAT_SDATA4 = 0x0b,
	FORMAT_SDATA8 = 0x0c,
	FORMAT_BITS = 0x0f,
	RELATIVE_BITS = 0x70,
	RELATIVE_TO_ITSELF = 0x10,
	RELATIVE_TO_HEADER = 0x30,
	ENCODING_NONE = 0xff,
};

/* Opcodes of call frame instructions (DW_CFA_*). The first three have an operand in their low six bits. */
enum {
	CFA_ADVANCE_LOC = 0x40, CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0, CFA_PRIMARY_BITS = 0xc0,
	CFA_NOP = 0x00,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
};

/* Operations of DWARF expressions (DW_OP_*). */
enum { OP_DEREF = 0x06, OP_FP_PLUS = 0x76 };

/* States are remembered where a function returns in its middle, and they do not nest in what compilers make.
 * Larger frames than RULE_MOST bytes do not fit into a packed rule (code.c). */
enum { REMEMBERED_MAX = 4, RULE_MOST = 1 << 22 };

/* -- Numbers and addresses ----------------------------------------------------------------------- */

/* Takes a number in the format of a pointer encoding, not yet relative to anything. */
static uint64_t take_number(struct cursor *c, unsigned encoding)
{
	switch (encoding & FORMAT_BITS) {
	case FORMAT_ADDRESS:
	case FORMAT_UDATA8:
	case FORMAT_SDATA8:
		return take(c, 8);
	case FORMAT_UDATA4:
		return take(c, 4);
	case FORMAT_SDATA4:
		return (uint64_t)(int64_t)(int32_t)take(c, 4);
	}
	c->has_failed = true;
	return 0;
}

/* Takes an address in a pointer encoding. */
static uint64_t take_address(struct cursor *c, unsigned encoding)
{
	uint64_t here = (uintptr_t)c->at, value = take_number(c, encoding);

	switch (encoding & RELATIVE_BITS) {
	case RELATIVE_TO_ITSELF:
		return here + value;
	}
	c->has_failed = true;
	return 0;
}

/* -- Call frame instructions --------------------------------------------------------------------- */

/* Where the caller has a register: in the same register; in memory, at an offset from its stack pointer or
 * where the frame pointer points to; it is not known; or there is no caller. */
enum saved { SAME, AT_OFFSET, AT_FP, UNKNOWN, NOWHERE };

/* The row of the table that the instructions have made so far. */
struct row {
	uint64_t cfa_register;
	int64_t cfa_offset;
	int64_t fp_offset, return_offset;       /* less the caller's stack pointer */
	uint8_t fp, ret;                        /* enum saved */
	bool is_cfa_known;
	bool is_cfa_in_memory;          /* at that offset from the register */
};

/* A common information entry: what the entries of many functions share. */
struct common {
	struct cursor instructions;
	uint64_t code_align;
	int64_t data_align;
	unsigned pointers;              /* the encoding of a function's bounds */
	bool has_augmentation;          /* each function has data of a length that stands in front of it */
};

static void save(struct row *row, uint64_t number, enum saved how, int64_t offset)
{
	if (number == REGISTER_FP) {
		row->fp = (uint8_t)how;
		row->fp_offset = offset;
	} else if (number == REGISTER_RETURN) {
		row->ret = (uint8_t)how;
		row->return_offset = offset;
	}
}

static void restore(struct row *row, uint64_t number, const struct row *initial)
{
	if (number == REGISTER_FP)
		save(row, number, initial->fp, initial->fp_offset);
	else if (number == REGISTER_RETURN)
		save(row, number, initial->ret, initial->return_offset);
}

static void define_cfa(struct row *row, uint64_t number, int64_t offset)
{
	row->cfa_register = number;
	row->cfa_offset = offset;
	row->is_cfa_known = true;
	row->is_cfa_in_memory = false;
}

/* Takes an expression of the form "frame pointer plus a number", perhaps with a load behind it, and stores
 * the number. Returns false, with the expression taken all the same, if it is another one. */
static bool take_fp_plus(struct cursor *c, bool is_loaded, int64_t *offset)
{
	uint64_t bytes = take_unsigned(c);
	struct cursor inner = *c;

	skip(c, bytes);
	inner.end = c->at;
	if (c->has_failed || take(&inner, 1) != OP_FP_PLUS)
		return false;
	*offset = take_signed(&inner);
	return (!is_loaded || take(&inner, 1) == OP_DEREF) && inner.at == inner.end && !inner.has_failed;
}

/* Multiplies as the processor does: nonsense in a table gives some number. */
static int64_t times(uint64_t number, int64_t factor)
{
	return (int64_t)(number * (uint64_t)factor);
}

/* Follows one instruction that is no advance. */
static void follow(struct cursor *c, unsigned opcode, const struct common *common, const struct row *initial,
		   struct row *row)
{
	uint64_t number;
	int64_t offset;

	switch (opcode) {
	case CFA_NOP:
		return;
	case CFA_OFFSET_EXTENDED:
		number = take_unsigned(c);
		save(row, number, AT_OFFSET, times(take_unsigned(c), common->data_align));
		return;
	case CFA_OFFSET_EXTENDED_SF:
		number = take_unsigned(c);
		save(row, number, AT_OFFSET, times((uint64_t)take_signed(c), common->data_align));
		return;
	case CFA_RESTORE_EXTENDED:
		restore(row, take_unsigned(c), initial);
		return;
	case CFA_UNDEFINED:
		save(row, take_unsigned(c), NOWHERE, 0);
		return;
	case CFA_SAME_VALUE:
		save(row, take_unsigned(c), SAME, 0);
		return;
	case CFA_REGISTER:
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
		save(row, take_unsigned(c), UNKNOWN, 0);
		take_unsigned(c);
		return;
	case CFA_EXPRESSION:
		number = take_unsigned(c);
		save(row, number, take_fp_plus(c, false, &offset) && offset == 0 ? AT_FP : UNKNOWN, 0);
		return;
	case CFA_VAL_EXPRESSION:
		save(row, take_unsigned(c), UNKNOWN, 0);
		skip(c, take_unsigned(c));
		return;
	case CFA_DEF_CFA:
		number = take_unsigned(c);
		define_cfa(row, number, (int64_t)take_unsigned(c));
		return;
	case CFA_DEF_CFA_SF:
		number = take_unsigned(c);
		define_cfa(row, number, times((uint64_t)take_signed(c), common->data_align));
		return;
	case CFA_DEF_CFA_REGISTER:
		row->cfa_register = take_unsigned(c);
		return;
	case CFA_DEF_CFA_OFFSET:
		row->cfa_offset = (int64_t)take_unsigned(c);
		return;
	case CFA_DEF_CFA_OFFSET_SF:
		row->cfa_offset = times((uint64_t)take_signed(c), common->data_align);
		return;
	case CFA_DEF_CFA_EXPRESSION:
		row->is_cfa_known = take_fp_plus(c, true, &row->cfa_offset);
		row->cfa_register = REGISTER_FP;
		row->is_cfa_in_memory = true;
		return;
	case CFA_GNU_ARGS_SIZE:
		take_unsigned(c);
		return;
	}
	c->has_failed = true;
}

/* Follows the instructions up to those for code behind `address`. `*location` is the address for which the
 * instructions hold. */
static void follow_all(struct cursor *c, const struct common *common, uint64_t address, uint64_t *location,
		       const struct row *initial, struct row *row)
{
	struct row remembered[REMEMBERED_MAX];
	unsigned depth = 0, opcode, operand;
	uint64_t next;

	while (!c->has_failed && c->at < c->end) {
		opcode = (unsigned)take(c, 1);
		operand = opcode & 0x3f;
		next = *location;
		switch (opcode & CFA_PRIMARY_BITS ? opcode & CFA_PRIMARY_BITS : opcode) {
		case CFA_ADVANCE_LOC:
			next += operand * common->code_align;
			break;
		case CFA_ADVANCE_LOC1:
			next += take(c, 1) * common->code_align;
			break;
		case CFA_ADVANCE_LOC2:
			next += take(c, 2) * common->code_align;
			break;
		case CFA_ADVANCE_LOC4:
			next += take(c, 4) * common->code_align;
			break;
		case CFA_OFFSET:
			save(row, operand, AT_OFFSET, times(take_unsigned(c), common->data_align));
			break;
		case CFA_RESTORE:
			restore(row, operand, initial);
			break;
		case CFA_REMEMBER_STATE:
			if (depth == REMEMBERED_MAX)
				c->has_failed = true;
			else
				remembered[depth++] = *row;
			break;
		case CFA_RESTORE_STATE:
			if (!depth)
				c->has_failed = true;
			else
				*row = remembered[--depth];
			break;
		default:
			follow(c, opcode, common, initial, row);
		}
		if (next > address)
			return;
		*location = next;
	}
}

/* -- Entries --------------------------------------------------------------------------------------- */

/* Begins to read the entry at `entry`. Stores the place behind its length and its field of 4 bytes that says
 * where its common entry is, or that it is one. Returns that field. */
static uint32_t begin_entry(struct fxt_unwind_tables *t, const uint8_t *entry, struct cursor *c)
{
	uint64_t bytes;

	*c = cursor_at(t, entry);
	bytes = take(c, 4);
	/* A length of 0 ends the section; the largest one is followed by a length of 8 bytes. */
	if (bytes == 0 || bytes == UINT32_MAX || bytes > (uint64_t)(c->end - c->at)) {
		c->has_failed = true;
		return 0;
	}
	c->end = c->at + bytes;
	return (uint32_t)take(c, 4);
}

static bool read_common(struct fxt_unwind_tables *t, const uint8_t *entry, struct common *common)
{
	struct cursor c, text;
	uint64_t version, bytes;
	uint8_t letter;

	if (begin_entry(t, entry, &c) != 0)
		return false;
	version = take(&c, 1);
	text = c;
	while (take(&c, 1))
		;
	common->code_align = take_unsigned(&c);
	common->data_align = take_signed(&c);
	if ((version != 1 && version != 3) ||
	    (version == 1 ? take(&c, 1) : take_unsigned(&c)) != REGISTER_RETURN)
		return false;
	common->pointers = FORMAT_ADDRESS;
	common->has_augmentation = false;
	letter = (uint8_t)take(&text, 1);
	if (letter == 'z') {
		common->has_augmentation = true;
		bytes = take_unsigned(&c);
		common->instructions = c;
		skip(&common->instructions, bytes);
		while ((letter = (uint8_t)take(&text, 1))) {
			if (letter == 'R')
				common->pointers = (unsigned)take(&c, 1);
			else if (letter == 'L')
				take(&c, 1);
			else if (letter == 'P')
				take_number(&c, (unsigned)take(&c, 1));
			else
				return false;
		}
	} else {
		common->instructions = c;
	}
	return !letter && !c.has_failed && !text.has_failed && !common->instructions.has_failed;
}

enum { PAIR_BYTES = 2 * sizeof(int32_t) };

/* Goes to the table of functions of the header, and sets how many it has. It has pairs of the function's and
 * the entry's distance from the header, sorted. Returns false if there is none. */
static bool go_to_functions(struct fxt_unwind_tables *t, struct cursor *c, uint64_t *count)
{
	enum { COUNT_BITS = 32 };
	uint64_t version, section, counts, table;
	uint64_t known = t->known ? atomic_load_explicit(&t->known->functions, memory_order_relaxed) : 0;

	*c = cursor_at(t, t->header);
	if (known) {
		skip(c, known >> COUNT_BITS);
		*count = (uint32_t)known;
		return true;
	}
	version = take(c, 1);
	section = take(c, 1);
	counts = take(c, 1);
	table = take(c, 1);
	if (section == ENCODING_NONE)
		return false;
	take_number(c, (unsigned)section);
	*count = take_number(c, (unsigned)counts);
	if (c->has_failed || version != 1 || table != (RELATIVE_TO_HEADER | FORMAT_SDATA4) ||
	    *count > (uint64_t)(c->end - c->at) / PAIR_BYTES)
		return false;
	if (t->known && *count <= UINT32_MAX)
		atomic_store_explicit(&t->known->functions,
				      (uint64_t)(c->at - t->header) << COUNT_BITS | *count,
				      memory_order_relaxed);
	return true;
}

/* Returns where the function of number `i` begins, less the header, with which the search compares at this
 * step. */
static int32_t first_of(const struct fxt_unwind_tables *t, struct cursor at, uint64_t i, uint64_t step,
			bool *has_failed)
{
	_Atomic int32_t *known = t->known && step < FXT_UNWIND_STEPS ? &t->known->firsts[step] : NULL;
	int32_t first = known ? atomic_load_explicit(known, memory_order_relaxed) : 0;

	if (first)
		return first;
	skip(&at, i * PAIR_BYTES);
	first = (int32_t)take(&at, sizeof(first));
	*has_failed = at.has_failed;
	if (known && !at.has_failed)
		atomic_store_explicit(known, first, memory_order_relaxed);
	return first;
}

/* Returns the entry of the last function that begins at or before the address, or NULL. */
static const uint8_t *find_entry(struct fxt_unwind_tables *t, uint64_t address)
{
	uint64_t count, low = 0, high, step = 0;
	bool has_failed = false;
	struct cursor c;
	int32_t entry;

	if (!go_to_functions(t, &c, &count))
		return NULL;
	for (high = count; low < high && !has_failed;) {
		uint64_t middle = low + (high - low) / 2;

		if ((uintptr_t)t->header + (uint64_t)(int64_t)first_of(t, c, middle, step, &has_failed) <=
		    address) {
			low = middle + 1;
			step = 2 * step + 2;
		} else {
			high = middle;
			step = 2 * step + 1;
		}
	}
	if (has_failed || !low)
		return NULL;
	skip(&c, (low - 1) * PAIR_BYTES + sizeof(entry));
	entry = (int32_t)take(&c, sizeof(entry));
	if (c.has_failed || entry > t->high - t->header || entry < t->low - t->header)
		return NULL;
	return t->header + entry;
}

/* Returns whether the row is that of a function that has aligned its stack. */
static bool is_aligned(const struct row *row)
{
	return row->is_cfa_in_memory && row->fp == AT_FP && row->cfa_offset >= -RULE_MOST &&
	       row->cfa_offset <= RULE_MOST && row->cfa_offset % 8 == 0;
}

/* Returns whether the caller's registers are sums of a register and a number. */
static bool is_sum(const struct row *row)
{
	return !row->is_cfa_in_memory &&
	       (row->cfa_register == REGISTER_SP || row->cfa_register == REGISTER_FP) &&
	       row->cfa_offset >= 8 && row->cfa_offset <= RULE_MOST && row->cfa_offset % 8 == 0 &&
	       (row->fp == SAME || (row->fp == AT_OFFSET && row->fp_offset <= -16 &&
				    row->fp_offset >= -RULE_MOST && row->fp_offset % 8 == 0));
}

/* Finds the row for the code at an address. Returns false if there is none. */
static bool find_row(struct fxt_unwind_tables *t, uint64_t address, struct row *row)
{
	const uint8_t *entry = find_entry(t, address), *field;
	struct row initial = {.fp = SAME, .ret = UNKNOWN};
	struct common common;
	uint64_t low, location, bytes;
	struct cursor c;
	uint32_t back;

	if (!entry)
		return false;
	back = begin_entry(t, entry, &c);
	field = c.at - 4;
	if (c.has_failed || !back || back > field - t->low || !read_common(t, field - back, &common))
		return false;
	low = take_address(&c, common.pointers);
	bytes = take_number(&c, common.pointers);
	if (common.has_augmentation)
		skip(&c, take_unsigned(&c));
	if (c.has_failed || address < low || address - low >= bytes)
		return false;
	location = low;
	follow_all(&common.instructions, &common, address, &location, &initial, &initial);
	*row = initial;
	follow_all(&c, &common, address, &location, &initial, row);
	return !c.has_failed && !common.instructions.has_failed;
}

enum fxt_unwind_found fxt_unwind_rule(struct fxt_unwind_tables *t, uintptr_t address,
				      struct fxt_unwind_rule *rule)
{
	struct row row;

	if (!find_row(t, address, &row))
		return FXT_UNWIND_NONE;
	if (row.ret == NOWHERE)
		return FXT_UNWIND_OUTERMOST;
	/* The return address lies right below the caller's stack pointer, because the call has pushed it. */
	if (!row.is_cfa_known || row.ret != AT_OFFSET || row.return_offset != -8 ||
	    !(is_sum(&row) || is_aligned(&row)))
		return FXT_UNWIND_NONE;
	*rule = (struct fxt_unwind_rule){
		.caller_sp = (int32_t)row.cfa_offset,
		.saved_fp = row.fp == AT_OFFSET ? (int32_t)row.fp_offset : 0,
		.is_from_fp = row.cfa_register == REGISTER_FP,
		.is_aligned = row.is_cfa_in_memory,
	};
	return FXT_UNWIND_RULE;
}

/* Returns whether the object has the address in the segment, and not only as zeros. */
static bool has_address(const Elf64_Phdr *segment, uint64_t address)
{
	return segment->p_type == PT_LOAD && segment->p_flags & PF_R && address >= segment->p_vaddr &&
	       address - segment->p_vaddr < segment->p_filesz;
}

bool fxt_unwind_find(const Elf64_Phdr *segments, size_t count, uintptr_t bias,
		     struct fxt_unwind_tables *tables)
{
	const Elf64_Phdr *section = NULL, *holder = NULL;
	size_t i;

	for (i = 0; i < count; i++)
		if (segments[i].p_type == PT_GNU_EH_FRAME)
			section = &segments[i];
	for (i = 0; section && i < count; i++)
		if (has_address(&segments[i], section->p_vaddr))
			holder = &segments[i];
	if (!holder)
		return false;
	*tables = (struct fxt_unwind_tables){
		.low = (const uint8_t *)(bias + holder->p_vaddr),
		.high = (const uint8_t *)(bias + holder->p_vaddr) + holder->p_filesz,
		.header = (const uint8_t *)(bias + section->p_vaddr),
	};
	return true;
}
