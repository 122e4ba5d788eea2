/* What has to be known of an executable before anything is preloaded into it. See elf_facts.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "elf_facts.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "message.h"

#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#endif

/* More than any executable has; a damaged header must not make us read for hours. */
enum { MAX_SECTIONS = 4096, MAX_NAMES_BYTES = 1 << 20 };

static bool read_at(int fd, void *out, size_t bytes, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, out, bytes, (off_t)offset) == (ssize_t)bytes;
}

static void read_interpreter(int fd, const Elf64_Phdr *ph, struct fxt_elf_facts *facts)
{
	size_t bytes =
		ph->p_filesz < sizeof(facts->interpreter) - 1 ? ph->p_filesz : sizeof(facts->interpreter) - 1;

	if (!read_at(fd, facts->interpreter, bytes, ph->p_offset))
		facts->broken = true;
	facts->interpreter[bytes] = '\0';
}

static void read_segments(int fd, const Elf64_Ehdr *eh, struct fxt_elf_facts *facts)
{
	for (unsigned i = 0; i < eh->e_phnum && !facts->broken; i++) {
		Elf64_Phdr ph;

		if (!read_at(fd, &ph, sizeof(ph), eh->e_phoff + (uint64_t)i * sizeof(ph)))
			facts->broken = true;
		else if (ph.p_type == PT_INTERP)
			read_interpreter(fd, &ph, facts);
	}
}

/* Go's linker leaves .go.buildinfo, and .note.go.buildid, in all it makes. A stripped section table is no
 * fault. */
static void read_sections(int fd, const Elf64_Ehdr *eh, struct fxt_elf_facts *facts)
{
	Elf64_Shdr table, sh;
	char *names;

	if (eh->e_shnum > MAX_SECTIONS || eh->e_shstrndx >= eh->e_shnum ||
	    !read_at(fd, &table, sizeof(table), eh->e_shoff + (uint64_t)eh->e_shstrndx * sizeof(table)) ||
	    table.sh_size > MAX_NAMES_BYTES)
		return;
	names = fxt_alloc(table.sh_size + 1, 1);
	if (read_at(fd, names, table.sh_size, table.sh_offset)) {
		for (unsigned i = 0; i < eh->e_shnum; i++) {
			if (!read_at(fd, &sh, sizeof(sh), eh->e_shoff + (uint64_t)i * sizeof(sh)) ||
			    sh.sh_name >= table.sh_size)
				continue;
			if (strcmp(names + sh.sh_name, ".go.buildinfo") == 0 ||
			    strcmp(names + sh.sh_name, ".note.go.buildid") == 0)
				facts->is_go = true;
		}
	}
	free(names);
}

bool fxt_elf_read(int fd, struct fxt_elf_facts *facts)
{
	Elf64_Ehdr eh;

	*facts = (struct fxt_elf_facts){0};
	if (!read_at(fd, eh.e_ident, sizeof(eh.e_ident), 0) || memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	facts->bits = eh.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	if (facts->bits != 64)
		return true;
	if (!read_at(fd, &eh, sizeof(eh), 0)) {
		facts->our_machine = facts->broken = true;
		return true;
	}
	facts->our_machine = eh.e_ident[EI_DATA] == ELFDATA2LSB && eh.e_machine == OUR_MACHINE;
	if (!facts->our_machine)
		return true;
	facts->broken = eh.e_phnum == 0 || eh.e_phentsize != sizeof(Elf64_Phdr);
	if (!facts->broken)
		read_segments(fd, &eh, facts);
	if (eh.e_shentsize == sizeof(Elf64_Shdr))
		read_sections(fd, &eh, facts);
	return true;
}
