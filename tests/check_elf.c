/* This tests what tools/programs/elf_facts.h finds out about an executable before it is traced. The
 * executable is this test's own, whole and damaged. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"
#include "tools/programs/elf_facts.h"

static char *self;
static size_t self_bytes;

static void load_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	self_bytes = (size_t)st.st_size;
	self = malloc(self_bytes);
	ck_assert(read(fd, self, self_bytes) == st.st_size);
	close(fd);
}

static void free_self(void)
{
	free(self);
}

/* Reads the facts of a file that has the first `bytes` of this program. Returns whether it is an ELF file. */
static bool facts_of(size_t bytes, struct fxt_elf_facts *facts)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	bool is_elf;

	ck_assert_int_ge(fd, 0);
	ck_assert(write(fd, self, bytes) == (ssize_t)bytes);
	is_elf = fxt_elf_read(fd, facts);
	close(fd);
	return is_elf;
}

START_TEST(knows_itself)
{
	struct fxt_elf_facts facts;

	ck_assert(facts_of(self_bytes, &facts));
	ck_assert_int_eq(facts.bits, 64);
	ck_assert(facts.our_machine && !facts.broken && !facts.is_go);
	ck_assert_msg(strstr(facts.interpreter, "/ld-linux") != NULL, "interpreter '%s'", facts.interpreter);
}
END_TEST

/* A file is broken when a loader could not use it: a program runs without its sections, but not without its
 * segments. */
START_TEST(cut_short)
{
	enum { IDENT = 16, EHDR = 64, PHDR = 56 };
	struct fxt_elf_facts facts;
	size_t segments;
	uint16_t count;

	memcpy(&count, self + 56, sizeof(count));
	segments = EHDR + (size_t)count * PHDR;
	for (size_t bytes = 0; bytes < segments; bytes++) {
		ck_assert_msg(facts_of(bytes, &facts) == (bytes >= 4), "%zu bytes", bytes);
		ck_assert_msg(facts.broken == (bytes >= 4), "%zu bytes", bytes);
	}
	ck_assert(facts_of(self_bytes / 2, &facts));
	ck_assert(!facts.broken && !facts.is_go && *facts.interpreter);
}
END_TEST

START_TEST(no_byte_of_the_headers_is_trusted)
{
	static const unsigned char values[] = {0, 0x7f, 0xff};
	struct fxt_elf_facts facts;

	for (size_t at = 0; at < 1024; at++) {
		char was = self[at];

		for (size_t i = 0; i < sizeof(values); i++) {
			self[at] = (char)values[i];
			facts_of(self_bytes, &facts);
			ck_assert(memchr(facts.interpreter, '\0', sizeof(facts.interpreter)) != NULL);
		}
		self[at] = was;
	}
}
END_TEST

START_TEST(tells_other_machines)
{
	struct fxt_elf_facts facts;

	self[18] ^= 1;
	ck_assert(facts_of(self_bytes, &facts));
	ck_assert(facts.bits == 64 && !facts.our_machine);
	self[18] ^= 1;
	self[4] = 1;            /* ELFCLASS32 */
	ck_assert(facts_of(self_bytes, &facts));
	ck_assert_int_eq(facts.bits, 32);
}
END_TEST

/* A section that every dynamic program has gets the name of one that Go's linker makes. */
START_TEST(tells_go)
{
	static const char name[] = "\0.gnu.version_r", go[] = "\0.go.buildinfo";
	struct fxt_elf_facts facts;
	char *last = NULL;

	for (char *at = self; (at = memmem(at, self_bytes - (size_t)(at - self), name, sizeof(name))); at++)
		last = at;
	ck_assert_ptr_nonnull(last);
	memcpy(last, go, sizeof(go));
	ck_assert(facts_of(self_bytes, &facts));
	ck_assert(facts.is_go && !facts.broken);
}
END_TEST

START_TEST(is_no_elf_file)
{
	struct fxt_elf_facts facts;

	memcpy(self, "#!/bin/sh\n", 10);
	ck_assert(!facts_of(self_bytes, &facts));
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("elf");

	tcase_add_checked_fixture(c, load_self, free_self);
	tcase_set_timeout(c, 60);
	tcase_add_test(c, knows_itself);
	tcase_add_test(c, cut_short);
	tcase_add_test(c, no_byte_of_the_headers_is_trusted);
	tcase_add_test(c, tells_other_machines);
	tcase_add_test(c, tells_go);
	tcase_add_test(c, is_no_elf_file);
	return RUN_SUITE("elf", c);
}
