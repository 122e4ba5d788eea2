/* Draws what a function does with its stack, and writes it as call frame instructions: used by
 * check_unwind_tables.c, and by nothing else. A thing that can be said in several ways is said in any of
 * them. */
#ifndef FXT_TESTS_UNWIND_ROWS_H
#define FXT_TESTS_UNWIND_ROWS_H

#include <check.h>
#include <string.h>

#include "agent/stacks/unwind.h"
#include "apps/random.h"

enum { ROOM = 1 << 17, RULE_MOST = 1 << 22 };

/* The numbers of registers. */
enum { FP = 6, SP = 7, RETURN = 16 };

/* -- Bytes ----------------------------------------------------------------------------------------- */

static uint8_t room[ROOM] __attribute__((aligned(16)));
static uint8_t *at;                     /* where the next byte goes */

static void put(uint64_t value, size_t bytes)
{
	if (at + bytes > room + ROOM)
		ck_abort_msg("the room is too small");
	memcpy(at, &value, bytes);
	at += bytes;
}

/* Writes a LEB128 number, perhaps longer than it need be. */
static void put_leb(uint64_t value, bool is_signed)
{
	int64_t rest = (int64_t)value;
	unsigned more = random_below(8) ? 0 : (unsigned)random_below(3);

	for (;;) {
		uint8_t low = rest & 0x7f;
		bool is_last;

		rest = is_signed ? rest >> 7 : (int64_t)((uint64_t)rest >> 7);
		is_last = is_signed ? rest == (low & 0x40 ? -1 : 0) : !rest;
		if (is_last && !more) {
			put(low, 1);
			return;
		}
		more -= is_last;
		put(low | 0x80, 1);
	}
}

static void put_unsigned(uint64_t value)
{
	put_leb(value, false);
}

static void put_signed(int64_t value)
{
	put_leb((uint64_t)value, true);
}

/* -- What a function does with its stack ----------------------------------------------------------- */

enum kind { SAME, STORED, AT_FP, LOST, NO_CALLER };

/* Where the caller's registers are. */
struct row {
	uint64_t location;
	enum { CFA_LOST, CFA_SUM, CFA_LOADED } cfa;
	uint64_t cfa_register;
	int64_t cfa_offset;
	enum kind fp, ret;
	int64_t fp_offset, ret_offset;
	bool is_bad;                    /* what says so, or what stands before it, cannot be read */
};

static struct common {
	uint8_t *place;
	uint64_t code_align;
	int64_t data_align;
	unsigned pointers;
	bool is_bad, has_length;
	struct row initial;
} common;

/* -- Call frame instructions ----------------------------------------------------------------------- */

/* Draws a multiple of 8 from `low` to `high`, the limits more often than others; now and then something
 * else. */
static int64_t draw_offset(int64_t low, int64_t high)
{
	enum { SMALL = 320 };

	switch (random_below(24)) {
	case 0:
		return high;
	case 1:
		return low;
	case 2:
		return high + 8;
	case 3:
		return low - 8;
	case 4:
		return low + (int64_t)random_below((uint64_t)(high - low));
	}
	if (low < -SMALL)
		low = -SMALL;
	if (high > SMALL)
		high = SMALL;
	return low + (int64_t)random_below((uint64_t)(high - low) / 8 + 1) * 8;
}

/* Ways to make an expression another one than "frame pointer plus a number", loaded or not. */
enum spoiled { PROPER, EMPTY, OTHER_REGISTER, NO_NUMBER, OTHER_LOAD, MORE_BEHIND, WAYS };

static void put_fp_plus(int64_t offset, bool is_loaded, enum spoiled way)
{
	enum { FP_PLUS = 0x76, SP_PLUS = 0x77, DEREF = 0x06, NOP = 0x96 };
	uint8_t *length = at;

	put(0, 1);
	if (way != EMPTY) {
		put(way == OTHER_REGISTER ? SP_PLUS : FP_PLUS, 1);
		if (way != NO_NUMBER)
			put_signed(offset);
		if (way != NO_NUMBER && is_loaded != (way == OTHER_LOAD))
			put(DEREF, 1);
		if (way == MORE_BEHIND)
			put(random_below(2) ? DEREF : NOP, 1);
	}
	*length = (uint8_t)(at - length - 1);
}

static enum spoiled draw_spoiled(void)
{
	return (enum spoiled)(1 + random_below(WAYS - 1));
}

/* Says where the CFA is, which is drawn. */
static void put_cfa(struct row *row)
{
	const struct row was = *row;
	int64_t align = common.data_align;
	unsigned ways[6], count = 0;

	if (!random_below(4)) {
		row->cfa_offset = draw_offset(-RULE_MOST, RULE_MOST);
		row->cfa = random_below(5) ? CFA_LOADED : CFA_LOST;
		put(0x0f, 1);                   /* def_cfa_expression */
		put_fp_plus(row->cfa_offset, true, row->cfa == CFA_LOADED ? PROPER : draw_spoiled());
		return;
	}
	row->cfa = CFA_SUM;
	row->cfa_register = random_below(8) ? FP + random_below(2) : random_below(200);
	row->cfa_offset = draw_offset(8, RULE_MOST);
	if (was.cfa == CFA_SUM && random_below(2)) {
		if (random_below(2))
			row->cfa_register = was.cfa_register;
		else
			row->cfa_offset = was.cfa_offset;
	}
	if (row->cfa_offset >= 0)
		ways[count++] = 0x0c;           /* def_cfa */
	if (row->cfa_offset % align == 0)
		ways[count++] = 0x12;           /* def_cfa_sf */
	if (was.cfa == CFA_SUM && was.cfa_offset == row->cfa_offset)
		ways[count++] = 0x0d;           /* def_cfa_register */
	if (was.cfa == CFA_SUM && was.cfa_register == row->cfa_register && row->cfa_offset >= 0)
		ways[count++] = 0x0e;           /* def_cfa_offset */
	if (was.cfa == CFA_SUM && was.cfa_register == row->cfa_register && row->cfa_offset % align == 0)
		ways[count++] = 0x13;           /* def_cfa_offset_sf */
	if (!count) {
		row->cfa_offset = 16;
		ways[count++] = 0x0c;
	}
	ways[0] = ways[random_below(count)];
	put(ways[0], 1);
	if (ways[0] != 0x0e && ways[0] != 0x13)
		put_unsigned(row->cfa_register);
	if (ways[0] == 0x0c || ways[0] == 0x0e)
		put_unsigned((uint64_t)row->cfa_offset);
	else if (ways[0] != 0x0d)
		put_signed(row->cfa_offset / align);
}

/* Says where the caller has a register, which is drawn. `initial` has what restoring it means, if that can be
 * said. */
static void put_register(struct row *row, uint64_t number, const struct row *initial)
{
	static const uint8_t moved[] = {0x09, 0x14, 0x15};      /* register, val_offset, val_offset_sf */
	enum kind how = (enum kind)random_below(5);
	int64_t offset = 0;

	if (how == NO_CALLER && random_below(4))
		how = STORED;
	switch (how) {
	case SAME:
		if (initial && random_below(2)) {
			how = number == RETURN ? initial->ret : initial->fp;
			offset = number == RETURN ? initial->ret_offset : initial->fp_offset;
			if (number < 64 && random_below(2)) {
				put(0xc0 | number, 1);  /* restore */
			} else {
				put(0x06, 1);           /* restore_extended */
				put_unsigned(number);
			}
			break;
		}
		put(0x08, 1);                           /* same_value */
		put_unsigned(number);
		break;
	case STORED:
		offset = number == RETURN && random_below(8) ? -8 : draw_offset(-RULE_MOST, -16);
		offset -= offset % common.data_align;
		if (offset / common.data_align < 0 || !random_below(4)) {
			put(0x11, 1);                   /* offset_extended_sf */
			put_unsigned(number);
			put_signed(offset / common.data_align);
			break;
		}
		if (number < 64 && random_below(4)) {
			put(0x80 | number, 1);          /* offset */
		} else {
			put(0x05, 1);                   /* offset_extended */
			put_unsigned(number);
		}
		put_unsigned((uint64_t)(offset / common.data_align));
		break;
	case AT_FP:
		put(0x10, 1);                           /* expression */
		put_unsigned(number);
		put_fp_plus(0, false, PROPER);
		break;
	case LOST:
		switch (random_below(4)) {
		case 0:
			put(0x10, 1);
			put_unsigned(number);
			put_fp_plus(8 + (int64_t)random_below(9), false, PROPER);
			break;
		case 1:
			put(0x10, 1);
			put_unsigned(number);
			put_fp_plus(0, false, draw_spoiled());
			break;
		case 2:
			put(0x16, 1);                   /* val_expression */
			put_unsigned(number);
			put_fp_plus(0, false, PROPER);
			break;
		case 3:
			put(moved[random_below(3)], 1);
			put_unsigned(number);
			put_leb(random_number(20), true);
			break;
		}
		break;
	case NO_CALLER:
		put(0x07, 1);                           /* undefined */
		put_unsigned(number);
		break;
	}
	if (number == FP) {
		row->fp = how;
		row->fp_offset = offset;
	} else if (number == RETURN) {
		row->ret = how;
		row->ret_offset = offset;
	}
}

/* Says how far the code goes for which the last row holds. */
static void put_advance(uint64_t units)
{
	if (units < 64 && random_below(4)) {
		put(0x40 | units, 1);
	} else if (units < 1 << 8 && random_below(4)) {
		put(0x02, 1);
		put(units, 1);
	} else if (units < 1 << 16 && random_below(4)) {
		put(0x03, 1);
		put(units, 2);
	} else {
		put(0x04, 1);
		put(units, 4);
	}
}

/* Says something that has no meaning for a rule. */
static void put_nothing(struct row *row)
{
	static const uint8_t others[] = {0, 1, 3, 5, 12, 13, 14, 15, 17, 70, 127};

	switch (random_below(3)) {
	case 0:
		put(0, 1);                              /* nop */
		return;
	case 1:
		put(0x2e, 1);                           /* GNU_args_size */
		put_unsigned(random_number(20));
		return;
	}
	put_register(row, others[random_below(sizeof(others))], NULL);
}

/* Writes what cannot be followed. */
static void put_bad(unsigned depth)
{
	static const uint8_t unknown[] = {0x01, 0x17, 0x1d, 0x2d, 0x2f, 0x30, 0x3f};
	unsigned i;

	if (random_below(2)) {
		put(unknown[random_below(sizeof(unknown))], 1);
	} else if (random_below(2)) {
		for (i = depth; i <= 4; i++)
			put(0x0a, 1);                   /* remember_state */
	} else {
		for (i = 0; i <= depth; i++)
			put(0x0b, 1);                   /* restore_state */
	}
}

/* Writes instructions of some rows; those of a common entry have one. Returns how many rows there are. */
static unsigned put_instructions(struct row *rows, unsigned count_most, uint64_t bytes, bool is_common)
{
	struct row remembered[4], row = rows[0];
	const struct row initial = rows[0];
	unsigned depth = 0, count = 0, i, some;

	for (;;) {
		some = (unsigned)random_below(is_common ? 6 : 4);
		for (i = 0; i < some; i++) {
			switch (random_below(8)) {
			case 0: case 1:
				put_cfa(&row);
				break;
			case 2:
				put_register(&row, FP, is_common ? NULL : &initial);
				break;
			case 3:
				put_register(&row, RETURN, is_common ? NULL : &initial);
				break;
			case 4:
				put_nothing(&row);
				break;
			case 5:
				if (depth == 4)
					break;
				remembered[depth++] = row;
				put(0x0a, 1);                   /* remember_state */
				break;
			case 6:
				if (depth) {
					uint64_t location = row.location;
					bool is_bad = row.is_bad;

					row = remembered[--depth];
					row.location = location;
					row.is_bad = is_bad;
					put(0x0b, 1);           /* restore_state */
				}
				break;
			case 7:
				if (!random_below(is_common ? 60 : 30)) {
					put_bad(depth);
					row.is_bad = true;
				}
			}
		}
		rows[count++] = row;
		if (count >= count_most || (!is_common && !random_below(6)))
			return count;
		/* What follows holds a little further on, and not behind the function. */
		i = (unsigned)(random_below(6) ? random_below(6) : random_number(17));
		if (row.location + i * common.code_align >= bytes)
			return count;
		if (!i)
			count--;                /* it does not hold anywhere */
		put_advance(i);
		row.location += i * common.code_align;
	}
}

#endif
