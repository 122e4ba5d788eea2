/* See mapped_module.h. Without libdw functions have no names, and frames are found by frame pointers. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "mapped_module.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/message.h"
#include "tools/programs/code_file.h"
#if HAVE_LIBDW
#include "tools/programs/libdw_calls.h"
#endif

struct segment {
	uint64_t offset, address, bytes;
};

struct fxt_module {
	char *path;
	uint64_t inode;
	size_t number;
	bool was_opened;
	struct segment *segments;
	size_t segment_count, segment_capacity;
	char *build_id; /* NULL: it is not known */
	struct fxt_code_file *file; /* NULL: it cannot be opened, or is not the file that was mapped */
#if HAVE_LIBDW
	Dwarf_CFI *cfi; /* NULL: there are no unwind tables */
	Dwarf_Addr cfi_bias;
	const unsigned char *begins; /* pairs: a function's begin, less index_address, and its entry */
	size_t begin_count;
	uint64_t index_address;
#endif
};

struct fxt_module *fxt_module_at(struct fxt_modules *modules, const char *path, uint64_t inode)
{
	struct fxt_module *module;

	for (size_t i = modules->count; i > 0; i--) {
		module = modules->list[i - 1];
		if (module->inode == inode && strcmp(module->path, path) == 0)
			return module;
	}
	module = fxt_alloc(1, sizeof(*module));
	module->path = fxt_strdup(path);
	module->inode = inode;
	modules->list =
		fxt_grow(modules->list, &modules->capacity, modules->count + 1, sizeof(*modules->list));
	modules->list[modules->count++] = module;
	module->number = modules->count;
	return module;
}

size_t fxt_module_number(const struct fxt_module *module)
{
	return module->number;
}

const char *fxt_module_path(const struct fxt_module *module)
{
	return module->path;
}

#if HAVE_LIBDW

/* -- Opening ----------------------------------------------------------------------------------- */

static void read_segments(struct fxt_module *module, Elf *elf)
{
	size_t count = 0;

	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    !(header.p_flags & PF_X))
			continue;
		module->segments = fxt_grow(module->segments, &module->segment_capacity,
					    module->segment_count + 1, sizeof(*module->segments));
		module->segments[module->segment_count++] =
			(struct segment){header.p_offset, header.p_vaddr, header.p_filesz};
	}
}

/* Reads where functions begin: .eh_frame_hdr has an index of them, sorted, if it is in the form that all
 * linkers write. */
static void read_index(struct fxt_module *module, Elf *elf)
{
	enum { HEADER_BYTES = 12, PAIR_BYTES = 8 };
	/* Version 1; the section's address in 4 bytes relative to themselves, the number of functions in 4
	 * bytes, and the pairs relative to the index, 4 bytes each. */
	static const unsigned char form[] = {1, 0x1b, 0x03, 0x3b};
	size_t count = 0;

	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		Elf_Data *data;
		uint32_t functions;

		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_GNU_EH_FRAME)
			continue;
		data = elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz, ELF_T_BYTE);
		if (!data || data->d_size < HEADER_BYTES || memcmp(data->d_buf, form, sizeof(form)) != 0)
			return;
		memcpy(&functions, (const unsigned char *)data->d_buf + HEADER_BYTES - sizeof(functions),
		       sizeof(functions));
		module->begins = (const unsigned char *)data->d_buf + HEADER_BYTES;
		module->begin_count = le32toh(functions);
		if (module->begin_count > (data->d_size - HEADER_BYTES) / PAIR_BYTES)
			module->begin_count = 0;
		module->index_address = header.p_vaddr;
		return;
	}
}

static void open_once(struct fxt_module *module)
{
	const struct fxt_code_wish wish = {
		.path = module->path, .build_id = "", .not_after = INT64_MAX, .inode = module->inode};
	Dwfl_Module *found;
	GElf_Addr bias;
	Elf *elf;

	if (module->was_opened)
		return;
	module->was_opened = true;
	module->file = fxt_code_file_open(&wish);
	if (!module->file)
		return;
	module->build_id = fxt_code_file_build_id(module->file);
	found = fxt_code_file_module(module->file, &bias);
	elf = dwfl_module_getelf(found, &bias);
	if (!elf)
		return;
	read_segments(module, elf);
	read_index(module, elf);
	module->cfi = dwfl_module_eh_cfi(found, &module->cfi_bias);
}

const char *fxt_module_build_id(struct fxt_module *module)
{
	open_once(module);
	return module->build_id;
}

uint64_t fxt_module_address(struct fxt_module *module, uint64_t offset)
{
	open_once(module);
	for (size_t i = 0; i < module->segment_count; i++) {
		const struct segment *segment = &module->segments[i];

		/* A mapping is of whole pages, so it may begin a little before the segment. */
		if (offset + 65536 > segment->offset && offset < segment->offset + segment->bytes)
			return segment->address + offset - segment->offset;
	}
	return 0;
}

/* -- Functions --------------------------------------------------------------------------------- */

/* Returns the frame of the address in the unwind tables, which the caller frees; NULL if they have none. */
static Dwarf_Frame *frame_at(const struct fxt_module *module, uint64_t address)
{
	Dwarf_Frame *frame;

	if (!module->cfi || dwarf_cfi_addrframe(module->cfi, address - module->cfi_bias, &frame) != 0)
		return NULL;
	return frame;
}

/* Returns the begin at a place in the index. */
static uint64_t begin_at(const struct fxt_module *module, size_t place)
{
	uint32_t distance;

	memcpy(&distance, module->begins + place * 2 * sizeof(distance), sizeof(distance));
	return module->index_address + (uint64_t)(int64_t)(int32_t)le32toh(distance);
}

/* Returns where the function begins that has the address and is in the unwind tables; or the address, if the
 * index does not say it. */
static uint64_t begin_of(const struct fxt_module *module, uint64_t address)
{
	size_t low = 0, high = module->begin_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (begin_at(module, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? begin_at(module, low - 1) : address;
}

const char *fxt_module_function(struct fxt_module *module, uint64_t address, uint64_t *start)
{
	const char *name;
	Dwarf_Frame *frame;

	open_once(module);
	*start = address;
	name = module->file ? fxt_code_file_function(module->file, address, start) : NULL;
	if (name)
		return name;
	frame = frame_at(module, address);
	if (frame)
		*start = begin_of(module, address);
	free(frame);
	return NULL;
}

/* -- Rules of unwinding ------------------------------------------------------------------------ */

enum { MOST_VALUES = 16 };

/* The values of an expression that is being computed. */
struct values {
	uint64_t list[MOST_VALUES];
	size_t count;
};

static bool push(struct values *values, uint64_t value)
{
	if (values->count == MOST_VALUES)
		return false;
	values->list[values->count++] = value;
	return true;
}

static bool compute_two(struct values *values, unsigned operation)
{
	uint64_t right, left, result;

	if (values->count < 2)
		return false;
	right = values->list[--values->count];
	left = values->list[--values->count];
	switch (operation) {
	case DW_OP_plus:
		result = left + right;
		break;
	case DW_OP_minus:
		result = left - right;
		break;
	case DW_OP_mul:
		result = left * right;
		break;
	case DW_OP_and:
		result = left & right;
		break;
	case DW_OP_or:
		result = left | right;
		break;
	case DW_OP_xor:
		result = left ^ right;
		break;
	case DW_OP_shl:
		result = right < 64 ? left << right : 0;
		break;
	case DW_OP_shr:
		result = right < 64 ? left >> right : 0;
		break;
	case DW_OP_ge:
		result = (int64_t)left >= (int64_t)right;
		break;
	case DW_OP_gt:
		result = (int64_t)left > (int64_t)right;
		break;
	case DW_OP_le:
		result = (int64_t)left <= (int64_t)right;
		break;
	case DW_OP_lt:
		result = (int64_t)left < (int64_t)right;
		break;
	case DW_OP_eq:
		result = left == right;
		break;
	case DW_OP_ne:
		result = left != right;
		break;
	default:
		return false;
	}
	return push(values, result);
}

/* Computes one operation ("DWARF Expressions", DWARF 5, section 2.5). Returns false at one that unwinding
 * does not need, or if memory is wanted that the copy of the stack does not have. */
static bool compute(struct values *values, const Dwarf_Op *op, const struct fxt_unwind *unwind, uint64_t cfa)
{
	unsigned atom = op->atom;
	uint64_t word;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		return push(values, atom - DW_OP_lit0);
	if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		return atom - DW_OP_breg0 < FXT_UNWIND_REGISTERS &&
		       push(values, unwind->registers[atom - DW_OP_breg0] + op->number);
	switch (atom) {
	case DW_OP_bregx:
		return op->number < FXT_UNWIND_REGISTERS &&
		       push(values, unwind->registers[op->number] + op->number2);
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(values, op->number);
	case DW_OP_call_frame_cfa:
		return push(values, cfa);
	case DW_OP_dup:
		return values->count && push(values, values->list[values->count - 1]);
	case DW_OP_drop:
		return values->count && values->count--;
	case DW_OP_plus_uconst:
		if (!values->count)
			return false;
		values->list[values->count - 1] += op->number;
		return true;
	case DW_OP_deref:
		if (!values->count || !fxt_unwind_read(unwind, values->list[values->count - 1], &word))
			return false;
		values->list[values->count - 1] = word;
		return true;
	case DW_OP_nop:
		return true;
	default:
		return compute_two(values, atom);
	}
}

/* Computes the value that operations leave, or that lies where they say. Returns false if they cannot be
 * computed. */
static bool value_of(const Dwarf_Op *ops, size_t count, const struct fxt_unwind *unwind, uint64_t cfa,
		     bool is_place, uint64_t *value)
{
	struct values values = {.count = 0};

	/* The value is in another register. */
	if (is_place && count == 1 && ops[0].atom == DW_OP_regx && ops[0].number < FXT_UNWIND_REGISTERS) {
		*value = unwind->registers[ops[0].number];
		return true;
	}
	if (is_place && count == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31 &&
	    ops[0].atom - DW_OP_reg0 < FXT_UNWIND_REGISTERS) {
		*value = unwind->registers[ops[0].atom - DW_OP_reg0];
		return true;
	}
	for (size_t i = 0; i < count; i++) {
		if (ops[i].atom == DW_OP_stack_value)
			is_place = false;
		else if (!compute(&values, &ops[i], unwind, cfa))
			return false;
	}
	if (!values.count)
		return false;
	*value = values.list[values.count - 1];
	return !is_place || fxt_unwind_read(unwind, *value, value);
}

/* Computes the registers of the caller. */
static bool leave(Dwarf_Frame *frame, struct fxt_unwind *unwind, bool *is_outermost)
{
	struct fxt_unwind caller = *unwind;
	Dwarf_Op memory[3], *ops;
	uint64_t cfa;
	size_t count;
	bool has_stack = false;
	int return_register = dwarf_frame_info(frame, NULL, NULL, &caller.was_signal);

	if (return_register < 0 || dwarf_frame_cfa(frame, &ops, &count) != 0 ||
	    !value_of(ops, count, unwind, 0, false, &cfa))
		return false;
	for (int i = 0; i < FXT_UNWIND_REGISTERS; i++) {
		if (dwarf_frame_register(frame, i, memory, &ops, &count) != 0)
			return false;
		/* No operations: the value is lost if there is a place for operations, or else the same. */
		if (!count) {
			if (ops && i == return_register) {
				*is_outermost = true;
				return false;
			}
			continue;
		}
		if (!value_of(ops, count, unwind, cfa, true, &caller.registers[i])) {
			if (i == return_register)
				return false;
			caller.registers[i] = 0;
		} else if (i == FXT_UNWIND_STACK) {
			has_stack = true;
		}
	}
	if (return_register != FXT_UNWIND_PC && return_register < FXT_UNWIND_REGISTERS)
		caller.registers[FXT_UNWIND_PC] = caller.registers[return_register];
	/* A stack only becomes shorter, unless a signal's handler was on another one. */
	if (cfa <= unwind->registers[FXT_UNWIND_STACK] && !caller.was_signal)
		return false;
	if (!caller.was_signal && !has_stack)
		caller.registers[FXT_UNWIND_STACK] = cfa;
	*unwind = caller;
	return true;
}

bool fxt_module_leave(struct fxt_module *module, uint64_t address, struct fxt_unwind *unwind,
		      bool *is_outermost)
{
	Dwarf_Frame *frame;
	bool left;

	*is_outermost = false;
	open_once(module);
	frame = frame_at(module, address);
	if (!frame)
		return false;
	left = leave(frame, unwind, is_outermost);
	free(frame);
	return left;
}

#else

const char *fxt_module_build_id(struct fxt_module *module)
{
	return module->build_id;
}

uint64_t fxt_module_address(struct fxt_module *module, uint64_t offset)
{
	(void)module;
	return offset;
}

const char *fxt_module_function(struct fxt_module *module, uint64_t address, uint64_t *start)
{
	(void)module;
	*start = address;
	return NULL;
}

bool fxt_module_leave(struct fxt_module *module, uint64_t address, struct fxt_unwind *unwind,
		      bool *is_outermost)
{
	(void)module, (void)address, (void)unwind;
	*is_outermost = false;
	return false;
}

#endif

void fxt_modules_free(struct fxt_modules *modules)
{
	for (size_t i = 0; i < modules->count; i++) {
		struct fxt_module *module = modules->list[i];

		fxt_code_file_close(module->file);
		free(module->build_id);
		free(module->path);
		free(module->segments);
		free(module);
	}
	free(modules->list);
	*modules = (struct fxt_modules){0};
}
