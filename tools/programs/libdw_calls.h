/* libdw and libdwfl of elfutils, opened when a file with code is (late.h). A function that is called for the
 * first time gets a line here. */
#ifndef FXT_TOOLS_LIBDW_H
#define FXT_TOOLS_LIBDW_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>

#include "tools/common/late.h"

extern struct fxt_late_library fxt_libdw;

#define FXT_DW(function) FXT_LATE(&fxt_libdw, function)
#define dwarf_attr FXT_DW(dwarf_attr)
#define dwarf_attr_integrate FXT_DW(dwarf_attr_integrate)
#define dwarf_cfi_addrframe FXT_DW(dwarf_cfi_addrframe)
#define dwarf_child FXT_DW(dwarf_child)
#define dwarf_filesrc FXT_DW(dwarf_filesrc)
#define dwarf_formstring FXT_DW(dwarf_formstring)
#define dwarf_formudata FXT_DW(dwarf_formudata)
#define dwarf_frame_cfa FXT_DW(dwarf_frame_cfa)
#define dwarf_frame_info FXT_DW(dwarf_frame_info)
#define dwarf_frame_register FXT_DW(dwarf_frame_register)
#define dwarf_getsrcfiles FXT_DW(dwarf_getsrcfiles)
#define dwarf_haspc FXT_DW(dwarf_haspc)
#define dwarf_siblingof FXT_DW(dwarf_siblingof)
#define dwarf_tag FXT_DW(dwarf_tag)
#define dwelf_elf_gnu_build_id FXT_DW(dwelf_elf_gnu_build_id)
#define dwfl_begin FXT_DW(dwfl_begin)
#define dwfl_build_id_find_debuginfo FXT_DW(dwfl_build_id_find_debuginfo)
#define dwfl_build_id_find_elf FXT_DW(dwfl_build_id_find_elf)
#define dwfl_end FXT_DW(dwfl_end)
#define dwfl_lineinfo FXT_DW(dwfl_lineinfo)
#define dwfl_module_addrdie FXT_DW(dwfl_module_addrdie)
#define dwfl_module_build_id FXT_DW(dwfl_module_build_id)
#define dwfl_module_eh_cfi FXT_DW(dwfl_module_eh_cfi)
#define dwfl_module_getelf FXT_DW(dwfl_module_getelf)
#define dwfl_module_getsrc FXT_DW(dwfl_module_getsrc)
#define dwfl_module_getsym_info FXT_DW(dwfl_module_getsym_info)
#define dwfl_module_getsymtab FXT_DW(dwfl_module_getsymtab)
#define dwfl_module_info FXT_DW(dwfl_module_info)
#define dwfl_module_nextcu FXT_DW(dwfl_module_nextcu)
#define dwfl_module_report_build_id FXT_DW(dwfl_module_report_build_id)
#define dwfl_offline_section_address FXT_DW(dwfl_offline_section_address)
#define dwfl_report_begin FXT_DW(dwfl_report_begin)
#define dwfl_report_elf FXT_DW(dwfl_report_elf)
#define dwfl_report_end FXT_DW(dwfl_report_end)
#define dwfl_report_module FXT_DW(dwfl_report_module)
#define dwfl_standard_find_debuginfo FXT_DW(dwfl_standard_find_debuginfo)

#endif
