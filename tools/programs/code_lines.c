/* Finds lines of source and inlined functions by the debug information of a file. See code_file.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdlib.h>
#include <string.h>

#include "code_file.h"
#include "tools/common/message.h"

#ifdef HAVE_LIBDW
#include "libdw_calls.h"

/* Returns the unit of the compiler that has the address, also where the file has no table of addresses. */
static Dwarf_Die *unit_of(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr *bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, bias);

	while (!unit && (unit = dwfl_module_nextcu(module, unit, bias))) {
		if (dwarf_haspc(unit, address - *bias) > 0)
			break;
	}
	return unit;
}

/* Returns the name of a function as the source has it, or NULL. */
static char *name_of(Dwarf_Die *function)
{
	static const unsigned names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		Dwarf_Attribute attribute;
		const char *name = dwarf_formstring(dwarf_attr_integrate(function, names[i], &attribute));

		if (name)
			return fxt_code_name(name);
	}
	return NULL;
}

static char *copy(const char *text)
{
	return text ? fxt_strdup(text) : NULL;
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) == 0 ? value : 0;
}

/* Sets file and line of a level to the place from which the inlined function was called. */
static void set_call(struct fxt_code_level *level, Dwarf_Die *inlined, Dwarf_Files *files)
{
	const char *file = NULL;

	if (files)
		file = dwarf_filesrc(files, number_of(inlined, DW_AT_call_file), NULL, NULL);
	level->file = copy(file);
	level->line = file ? (int)number_of(inlined, DW_AT_call_line) : 0;
}

/* How deep blocks and inlined functions are followed into one another. */
enum { SCOPES = 256 };

/* Finds the blocks and functions below a part of a unit that the address is in, the innermost first, as they
 * lie in the code. Returns their number. This goes into nothing that is elsewhere: dwarf_getscopes() goes
 * through all of a unit, and dwarf_getscopes_die() once more. */
static size_t scopes_below(Dwarf_Die *part, Dwarf_Addr address, Dwarf_Die *scopes, size_t room)
{
	Dwarf_Die child;
	size_t count = 0;

	if (!room || dwarf_child(part, &child) != 0)
		return 0;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
			/* These have no addresses of their own. */
			count = scopes_below(&child, address, scopes, room - 1);
			break;
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
		case DW_TAG_entry_point:
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_with_stmt:
			if (dwarf_haspc(&child, address) <= 0)
				break;
			count = scopes_below(&child, address, scopes, room - 1);
			scopes[count++] = child;
			break;
		default:
			break;
		}
	} while (!count && dwarf_siblingof(&child, &child) == 0);
	return count;
}

/* Adds a level for each inlined function, and the name of the function that they are in. Returns the place of
 * the last level. */
static size_t add_inlined(Dwarf_Die *unit, Dwarf_Addr address, struct fxt_code_level *levels)
{
	Dwarf_Files *files = NULL;
	Dwarf_Die scopes[SCOPES];
	size_t count = scopes_below(unit, address, scopes, SCOPES), last = 0;

	if (dwarf_getsrcfiles(unit, &files, NULL) != 0)
		files = NULL;
	for (size_t i = 0; i < count; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag == DW_TAG_inlined_subroutine && last < FXT_CODE_LEVELS - 1) {
			levels[last].function = name_of(&scopes[i]);
			set_call(&levels[++last], &scopes[i], files);
		} else if (tag == DW_TAG_subprogram) {
			levels[last].function = name_of(&scopes[i]);
			break;
		}
	}
	return last;
}

size_t fxt_code_file_levels(struct fxt_code_file *f, uint64_t address,
			    struct fxt_code_level levels[FXT_CODE_LEVELS])
{
	Dwarf_Addr bias, of_unit;
	Dwfl_Module *module = fxt_code_file_module(f, &bias);
	Dwarf_Die *unit;
	Dwfl_Line *line;
	size_t last = 0;

	memset(levels, 0, FXT_CODE_LEVELS * sizeof(*levels));
	address += bias;
	line = dwfl_module_getsrc(module, address);
	/* Without a line there is no unit, and to look through all units takes long. libdwfl takes code
	 * behind a unit, such as _start behind main, for that of its last line. */
	unit = line ? unit_of(module, address, &of_unit) : NULL;
	if (unit && dwarf_haspc(unit, address - of_unit) == 0)
		return 1;
	if (line)
		levels[0].file = copy(dwfl_lineinfo(line, NULL, &levels[0].line, NULL, NULL, NULL));
	if (levels[0].line < 0 || !levels[0].file)
		levels[0].line = 0;
	if (unit)
		last = add_inlined(unit, address - of_unit, levels);
	return last + 1;
}
#else
size_t fxt_code_file_levels(struct fxt_code_file *f, uint64_t address,
			    struct fxt_code_level levels[FXT_CODE_LEVELS])
{
	(void)f, (void)address;
	levels[0] = (struct fxt_code_level){.line = 0};
	return 1;
}
#endif
