/* What an executable or library says of itself. See elf_mapped.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "elf_mapped.h"

#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <unistd.h>

#include "debug_dirs.h"

static bool read_segments(Elf *elf, struct fxt_elf_mapped *m)
{
	uint64_t low = UINT64_MAX, high = 0;
	size_t count;

	if (elf_getphdrnum(elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph))
			return false;
		if (ph.p_type != PT_LOAD)
			continue;
		low = ph.p_vaddr < low ? ph.p_vaddr : low;
		high = ph.p_vaddr + ph.p_memsz > high ? ph.p_vaddr + ph.p_memsz : high;
	}
	if (high <= low)
		return false;
	m->low = low;
	m->bytes = high - low;
	return true;
}

/* The section has a name, NUL, and the checksum of the file at the next multiple of four. */
static void take_link(const Elf_Data *data, struct fxt_elf_mapped *m)
{
	size_t length = data && data->d_buf ? strnlen(data->d_buf, data->d_size) : 0;
	size_t at = (length + 4) & ~(size_t)3;

	if (!length || length >= sizeof(m->link) || at + 4 > data->d_size)
		return;
	memcpy(m->link, data->d_buf, length + 1);
	memcpy(&m->link_crc, (const char *)data->d_buf + at, 4);
}

static void read_link(Elf *elf, struct fxt_elf_mapped *m)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr sh;
		const char *name = gelf_getshdr(section, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;

		if (name && strcmp(name, ".gnu_debuglink") == 0)
			take_link(elf_getdata(section, NULL), m);
	}
}

bool fxt_elf_mapped_read(const char *path, const char *build_id, struct fxt_elf_mapped *m)
{
	int fd = *path == '/' ? fxt_debug_dirs_open_file(path) : -1;
	Elf *elf = NULL;
	GElf_Ehdr eh;
	bool ok = fd >= 0 && (!build_id || fxt_debug_dirs_has_id(fd, build_id)) &&
		  elf_version(EV_CURRENT) != EV_NONE;

	*m = (struct fxt_elf_mapped){0};
	if (ok)
		elf = elf_begin(fd, ELF_C_READ, NULL);
	ok = elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &eh) && read_segments(elf, m);
	if (ok) {
		m->is_pic = eh.e_type == ET_DYN;
		read_link(elf, m);
	}
	if (elf)
		elf_end(elf);
	if (fd >= 0)
		close(fd);
	return ok;
}
