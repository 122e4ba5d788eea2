/* Finds out what has to be known of an executable before anything is preloaded into it. See elf_facts.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "elf_facts.h"

#include <gelf.h>
#include <libelf.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debug_dirs.h"

#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#endif

static bool has_magic(int fd)
{
	char magic[SELFMAG];

	return pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, ELFMAG, sizeof(magic)) == 0;
}

static bool read_interpreter(Elf *elf, const GElf_Phdr *ph, struct fxt_elf_facts *facts)
{
	size_t bytes =
		ph->p_filesz < sizeof(facts->interpreter) - 1 ? ph->p_filesz : sizeof(facts->interpreter) - 1;
	const Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)ph->p_offset, bytes, ELF_T_BYTE);

	if (!data || data->d_size != bytes)
		return false;
	memcpy(facts->interpreter, data->d_buf, bytes);
	facts->interpreter[bytes] = '\0';
	return true;
}

static bool read_segments(Elf *elf, const GElf_Ehdr *eh, struct fxt_elf_facts *facts)
{
	size_t count;

	/* libelf leaves out segment headers that would lie behind the end of the file. */
	if (eh->e_phentsize != gelf_fsize(elf, ELF_T_PHDR, 1, EV_CURRENT) ||
	    elf_getphdrnum(elf, &count) != 0 || count == 0 ||
	    (eh->e_phnum != PN_XNUM && count != eh->e_phnum))
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph))
			return false;
		if (ph.p_type == PT_INTERP && !read_interpreter(elf, &ph, facts))
			return false;
	}
	return true;
}

/* Returns whether there is a section that Go's linker leaves in all it makes. A stripped or damaged
 * section table is no fault, because nothing needs it to run. */
static bool has_go_section(Elf *elf)
{
	size_t names;
	Elf_Scn *section = NULL;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr sh;
		const char *name =
			gelf_getshdr(section, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;

		if (name && (strcmp(name, ".go.buildinfo") == 0 || strcmp(name, ".note.go.buildid") == 0))
			return true;
	}
	return false;
}

/* Returns whether `name` is that of a sanitizer's library: one of gcc's, or a shared one of clang's. */
static bool is_sanitizer(const char *name)
{
	static const char *const begin[] = {"libasan.so",	"libtsan.so",	     "liblsan.so",
					    "libhwasan.so",	"libclang_rt.asan",  "libclang_rt.tsan",
					    "libclang_rt.lsan", "libclang_rt.hwasan"};

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (strncmp(name, begin[i], strlen(begin[i])) == 0)
			return true;
	return false;
}

/* Takes one entry of the dynamic section, whose text is `name`. */
static void take_name(int64_t tag, const char *name, struct fxt_elf_facts *facts)
{
	static const char loader[] = "ld-linux-";

	if (tag == DT_NEEDED && strlen(name) < sizeof(facts->sanitizer) && is_sanitizer(name))
		memcpy(facts->sanitizer, name, strlen(name) + 1);
	if (tag == DT_SONAME && strncmp(name, loader, sizeof(loader) - 1) == 0)
		facts->is_loader = true;
}

/* Finds what the dynamic section says by names. */
static void find_names(Elf *elf, struct fxt_elf_facts *facts)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr sh;
		GElf_Dyn dyn;
		Elf_Data *data;

		if (!gelf_getshdr(section, &sh) || sh.sh_type != SHT_DYNAMIC ||
		    !(data = elf_getdata(section, NULL)))
			continue;
		for (int i = 0; gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
			const char *name = dyn.d_tag == DT_NEEDED || dyn.d_tag == DT_SONAME
						   ? elf_strptr(elf, sh.sh_link, dyn.d_un.d_val)
						   : NULL;

			if (name)
				take_name(dyn.d_tag, name, facts);
		}
	}
}

static void read_headers(Elf *elf, struct fxt_elf_facts *facts)
{
	GElf_Ehdr eh;

	facts->bits = gelf_getclass(elf) == ELFCLASS64 ? 64 : 32;
	if (facts->bits != 64)
		return;
	if (!gelf_getehdr(elf, &eh)) {
		facts->our_machine = facts->broken = true;
		return;
	}
	facts->our_machine = eh.e_ident[EI_DATA] == ELFDATA2LSB && eh.e_machine == OUR_MACHINE;
	if (!facts->our_machine)
		return;
	facts->broken = !read_segments(elf, &eh, facts);
	facts->is_go = has_go_section(elf);
	find_names(elf, facts);
}

bool fxt_elf_read(int fd, struct fxt_elf_facts *facts)
{
	Elf *elf;

	*facts = (struct fxt_elf_facts){0};
	if (!has_magic(fd))
		return false;
	elf_version(EV_CURRENT);
	/* This does not map the file, because a file that is cut short meanwhile would then raise SIGBUS. */
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		read_headers(elf, facts);
	else
		*facts = (struct fxt_elf_facts){.bits = 64, .our_machine = true, .broken = true};
	elf_end(elf);
	return true;
}

bool fxt_elf_is_cut(const char *path)
{
	int fd = *path == '/' ? fxt_debug_dirs_open_file(path) : -1;
	Elf64_Ehdr header;
	struct stat st;
	bool is_cut = false;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
	    memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64)
		is_cut = header.e_shoff > (uint64_t)st.st_size ||
			 (uint64_t)st.st_size - header.e_shoff <
				 (uint64_t)header.e_shnum * header.e_shentsize;
	close(fd);
	return is_cut;
}
