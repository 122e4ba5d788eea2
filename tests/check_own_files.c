/* This tests where the descriptors and the names of the trace file are (writer/buffer_file.c). The kernel is
 * played: limits, descriptors and names that are taken, calls that are interrupted or refused, all at random.
 * What is asked of it and what comes of that are compared with a model. FXT_SEED names the choices. */
#include <sys/mman.h>

#include "apart.h"
#include "apps/random.h"
#include "buffer_fixture.h"
#include "suite.h"
#include "syscalls_fixture.h"

enum { ROUNDS = 3000, HIGH = 1000, USUAL = 1024, HIGHEST = 4096, STEP = 1024, NEAR = 16,
	NAMES = 1000, FDS = 20000 };

static struct rlimit limit;             /* as the kernel has it */
static int limit_sets, set_refused;     /* which of the calls that set it fails */
static bool get_refused, is_alone;
static bool busy[FDS];                  /* descriptors that are taken */
static unsigned names_taken;            /* so many names are taken, from the first on */
static unsigned attempts;
static long name_error;                 /* what becomes of the first free name */
static bool has_proc, may_name;         /* whether there is /proc, and whether files may be named without */
static char tried[FXT_PATH_BYTES];      /* the last name that was tried */

static bool play(long number, const long *a, long *result)
{
	switch (number) {
	case SYS_newfstatat:
		/* A process of one thread has three links there. */
		ck_assert_str_eq((const char *)a[1], "/proc/self/task");
		*(struct stat *)a[2] = (struct stat){.st_nlink = is_alone ? 3 : 4};
		*result = 0;
		return true;
	case SYS_prlimit64:
		if (a[1] != RLIMIT_NOFILE)
			return false;
		*result = 0;
		if (a[2]) {
			if (limit_sets++ == set_refused)
				*result = -EPERM;
			else
				limit = *(const struct rlimit *)a[2];
		} else if (get_refused) {
			*result = -EPERM;
		} else {
			*(struct rlimit *)a[3] = limit;
		}
		return true;
	case SYS_fcntl:
		ck_assert_int_eq(a[0], 7);
		ck_assert_int_eq(a[1], F_DUPFD_CLOEXEC);
		for (*result = a[2]; *result < FDS && busy[*result]; ++*result)
			;
		if ((rlim_t)a[2] >= limit.rlim_cur)
			*result = -EINVAL;
		else if ((rlim_t)*result >= limit.rlim_cur)
			*result = -EMFILE;
		return true;
	default:
		return false;
	}
}

/* Returns the lowest free number from `least` on below the limit `end`, or -1. */
static int lowest(int least, rlim_t end)
{
	for (; (rlim_t)least < end; least++)
		if (!busy[least])
			return least;
	return -1;
}

/* Returns the number that a copy has to get. */
static int expected(int above)
{
	int least = above < HIGH - NEAR ? HIGH : above + STEP, found = -1;
	rlim_t usual = limit.rlim_cur < USUAL ? USUAL : limit.rlim_cur;
	int64_t distance, most;

	if (get_refused)
		return lowest(least, limit.rlim_cur);
	if (limit.rlim_cur > HIGHEST)
		found = lowest(least, limit.rlim_cur);
	else if (is_alone && set_refused != 0 &&
		 (usual + STEP <= limit.rlim_max || getuid() == 0 || limit.rlim_max > usual))
		/* The number is one that the program cannot have. */
		found = lowest((int)usual, usual + STEP);
	if (found >= 0)
		return found;
	most = limit.rlim_cur < INT32_MAX ? (int64_t)limit.rlim_cur : INT32_MAX;
	for (distance = 1; found < 0; distance *= 2) {
		if (most - distance <= above || most - distance < HIGH)
			break;
		found = lowest((int)(most - distance), limit.rlim_cur);
	}
	return found;
}

/* A copy of a descriptor is out of the program's way, and the limit is what it was. */
START_TEST(numbers)
{
	const rlim_t limits[] = {64, 256, 1000, 1001, 1024, 1025, 2000, 4095, 4096, 4097, 8000, 15000};
	unsigned round, i;

	random_seed(0);
	answers = play;
	for (round = 0; round < ROUNDS; round++) {
		int above = random_below(3) ? (int)random_below(60) : (int)random_below(5000), copy, right;
		struct rlimit before;

		if (random_below(4) == 0)
			above = HIGH - NEAR - 1 + (int)random_below(3);
		memset(busy, 0, sizeof(busy));
		limit.rlim_cur = limits[random_below(12)];
		limit.rlim_max = limit.rlim_cur + random_below(3) * 3000;
		limit_sets = 0;
		is_alone = random_below(2);
		set_refused = random_below(4) ? 9 : (int)random_below(2);
		/* A refusal to put the limit back has no remedy. */
		if (set_refused == 1)
			set_refused = 9;
		get_refused = random_below(8) == 0;
		/* A block of numbers is taken. */
		for (i = (unsigned)random_below(3) ? (unsigned)limit.rlim_cur - (unsigned)random_below(60)
						   : (unsigned)random_below(5000);
		     i < FDS && random_below(200); i++)
			busy[i] = true;
		if (random_below(8) == 0)
			for (i = 0; i < FDS; i++)
				busy[i] = random_below(100) != 0;
		before = limit;
		right = expected(above);
		copy = fxt_file_dup_high(7, above);
		if (right < 0)
			ck_assert_int_lt(copy, 0);
		else
			ck_assert_int_eq(copy, right);
		ck_assert_uint_eq(limit.rlim_cur, before.rlim_cur);
		ck_assert_uint_eq(limit.rlim_max, before.rlim_max);
	}
}
END_TEST

/* -- Names ----------------------------------------------------------------------------------------- */

static bool play_names(long number, const long *a, long *result)
{
	const char *name = (const char *)a[1];

	switch (number) {
	case SYS_openat:
		if ((a[2] & O_TMPFILE) == O_TMPFILE) {
			strcpy(tried, name);
			*result = name_error;
			return true;
		}
		ck_assert_int_eq(a[2], O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		ck_assert_int_eq(a[3], 0600);
		strcpy(tried, name);
		*result = attempts++ < names_taken ? -EEXIST : 7;
		return true;
	case SYS_close:
		ck_assert_int_eq(a[0], 9);
		*result = 0;
		return true;
	case SYS_linkat:
		if (a[4] & AT_EMPTY_PATH ? !may_name : !has_proc && !strncmp(name, "/proc/", 6)) {
			*result = -ENOENT;
			return true;
		}
		/* This asks whether a file could be named. */
		if (!strcmp((const char *)a[3], "/")) {
			*result = -EEXIST;
			return true;
		}
		strcpy(tried, (const char *)a[3]);
		*result = attempts++ < names_taken ? -EEXIST : name_error;
		return true;
	case SYS_unlinkat:
		*result = 0;
		return true;
	default:
		return false;
	}
}

/* Writes the name that attempt number `attempt` has to have. */
static void name_of(char *name, const char *stem, const char *suffix, unsigned attempt)
{
	if (attempt)
		sprintf(name, "%s.%u%s", stem, attempt, suffix);
	else
		sprintf(name, "%s%s", stem, suffix);
}

/* A name that is taken gets a number, up to 999. */
START_TEST(names)
{
	static const long nameless_results[] = {-EOPNOTSUPP, -EISDIR, -EINVAL, -EACCES, 9};
	static const char *const suffixes[] = {".fxt", ".trace", "", ".fx", "t.fxt"};
	char stem[300], right[FXT_PATH_BYTES], name[FXT_PATH_BYTES];
	unsigned round;

	random_seed(1);
	answers = play_names;
	for (round = 0; round < ROUNDS; round++) {
		const char *suffix = suffixes[random_below(5)], *number_before = suffix;
		bool nameless = random_below(2), was_nameless = nameless;
		unsigned way = (unsigned)random_below(3);
		int error;

		sprintf(stem, random_below(2) ? "/tmp/%s/x" : "%sx", random_word(100));
		/* The number stands in front of ".fxt" alone, */
		if (strcmp(suffix, ".fxt") && strcmp(suffix, "t.fxt"))
			strcat(stem, suffix), number_before = "";
		/* and no other letters belong to that. */
		if (!strcmp(suffix, "t.fxt"))
			strcat(stem, "t"), number_before = ".fxt";
		name_of(name, stem, number_before, 0);
		attempts = 0;
		names_taken = random_below(8) ? (unsigned)random_below(12)
					      : NAMES - 2 + (unsigned)random_below(4);
		name_error = random_below(3) ? 0 : -EPERM;
		name_of(right, stem, number_before, names_taken < NAMES ? names_taken : NAMES - 1);
		has_proc = random_below(2);
		may_name = (way && !has_proc) || random_below(2);
		if (way == 0) {
			/* A file system that knows no such files, or refuses one. */
			name_error = nameless_results[random_below(5)];
			error = fxt_file_open(name, &nameless);
			if (name_error == -EACCES || (name_error == 9 && (has_proc || may_name))) {
				ck_assert_int_eq(error, name_error);
				ck_assert(nameless);
				/* It is made in the directory that it will be in. */
				if (strchr(stem, '/'))
					ck_assert_int_eq(strrchr(tried, '/')[1], 0);
				ck_assert_int_eq(strncmp(tried, stem, strlen(tried)), 0);
				ck_assert_uint_eq(attempts, 0);
				continue;
			}
			ck_assert(!nameless);
			ck_assert_int_eq(error, names_taken < NAMES ? 7 : -EEXIST);
		} else if (way == 1) {
			error = fxt_file_publish(7, name);
			ck_assert_int_eq(error, names_taken < NAMES ? name_error : -EEXIST);
		} else {
			error = fxt_file_reveal(7, name, nameless);
			ck_assert_int_eq(error, names_taken < NAMES ? name_error : -EEXIST);
			ck_assert_int_eq(nameless, was_nameless);
		}
		ck_assert_str_eq(tried, right);
		ck_assert_uint_eq(attempts, names_taken < NAMES ? names_taken + 1 : NAMES);
		name_of(tried, stem, number_before, 0);
		ck_assert_str_eq(name, error >= 0 ? right : tried);
	}
}
END_TEST

/* The longest path that has room for a number, and for the suffix of a file that is not whole. */
START_TEST(long_names)
{
	static char name[FXT_PATH_BYTES + 10];
	size_t length;
	bool nameless;

	answers = play_names;
	name_error = -EOPNOTSUPP;
	for (length = FXT_PATH_BYTES - 12; length < FXT_PATH_BYTES + 4; length++) {
		memset(name, 'x', sizeof(name));
		name[length] = 0;
		names_taken = attempts = 0;
		ck_assert_int_eq(fxt_file_open(name, &nameless),
				 length + 6 > FXT_PATH_BYTES ? -ENAMETOOLONG : 7);
		attempts = 0;
		ck_assert_int_eq(fxt_file_open_hidden(name, &nameless),
				 length + 5 > FXT_PATH_BYTES ? -ENAMETOOLONG : 7);
	}
}
END_TEST

/* -- Whose file it is ------------------------------------------------------------------------------ */

static unsigned closed;

static bool count_closed(long number, const long *a, long *result)
{
	(void)a, (void)result;
	closed += number == SYS_close;
	return false;
}

/* Only the file that was made is ours, whatever has its number. */
START_TEST(ownership)
{
	struct fxt_chunk chunk;
	int other, before, kept;

	random_seed(2);
	create(FXT_ONESHOT, FXT_BUFFER_MIN_BYTES);
	kept = dup(buffer.fd);
	ck_assert(fxt_file_is_ours(&buffer, buffer.fd));
	ck_assert(fxt_file_is_ours(&buffer, kept));
	ck_assert(!fxt_file_is_ours(&buffer, -1));
	other = open("/dev/null", O_RDWR);
	ck_assert(!fxt_file_is_ours(&buffer, other));
	/* Another file of the same file system, and one of the same number on another. */
	buffer.device++;
	ck_assert(!fxt_file_is_ours(&buffer, buffer.fd));
	buffer.device--;
	buffer.inode++;
	ck_assert(!fxt_file_is_ours(&buffer, buffer.fd));
	buffer.inode--;
	/* Where nobody may ask, the number is believed. */
	fxt_forbidden = FXT_NO_FILE;
	ck_assert(fxt_file_is_ours(&buffer, buffer.fd));
	ck_assert(!fxt_file_is_ours(&buffer, kept));
	buffer.fd = -1;
	ck_assert(!fxt_file_is_ours(&buffer, -1));
	fxt_forbidden = 0;
	/* The program has its own file at that number. Ours is opened anew. */
	buffer.fd = other;
	before = buffer.fd;
	ck_assert(fxt_file_ready(&buffer));
	ck_assert_int_ne(buffer.fd, before);
	ck_assert(fxt_file_is_ours(&buffer, buffer.fd));
	ck_assert_int_ge(fcntl(other, F_GETFD), 0);
	/* Somebody has put another file in its place by name: that is closed again, and not written to. */
	close(buffer.fd);
	buffer.fd = -1;
	ck_assert_int_eq(rename(path, strcat(strcpy((char[80]){0}, path), ".tmp")), 0);
	ck_assert_int_ge(open(path, O_CREAT | O_WRONLY, 0600), 0);
	answers = count_closed;
	closed = 0;
	ck_assert(!fxt_file_ready(&buffer));
	ck_assert_uint_eq(closed, 1);
	ck_assert_int_eq(buffer.fd, -1);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert(!fxt_file_ready(&buffer));
	ck_assert_uint_eq(closed, 1);
	answers = NULL;
	ck_assert_int_eq(rename(strcat(strcpy((char[80]){0}, path), ".tmp"), path), 0);
	ck_assert(take(&chunk));
}
END_TEST

/* A descriptor in the program's way is closed, and opened when it is needed. */
START_TEST(settling)
{
	int fd;

	create(FXT_ONESHOT, FXT_BUFFER_MIN_BYTES);
	ck_assert(!buffer.is_in_the_way);
	fd = buffer.fd;
	fxt_file_settle(&buffer);
	ck_assert_int_eq(buffer.fd, fd);
	buffer.managed = true;
	buffer.is_in_the_way = true;
	fxt_file_settle(&buffer);
	ck_assert_int_eq(buffer.fd, fd);
	buffer.managed = false;
	fxt_file_settle(&buffer);
	ck_assert_int_eq(buffer.fd, -1);
	ck_assert(!buffer.is_in_the_way);
	ck_assert_int_lt(fcntl(fd, F_GETFD), 0);
	ck_assert(fxt_file_ready(&buffer));
	ck_assert(fxt_file_is_ours(&buffer, buffer.fd));
}
END_TEST

int main(void)
{
	TCase *played = tcase_create("played"), *files = tcase_create("files");

	tcase_add_test(played, numbers);
	tcase_add_test(played, names);
	tcase_add_test(played, long_names);
	tcase_add_checked_fixture(files, setup, teardown);
	tcase_add_test(files, ownership);
	tcase_add_test(files, settling);
	return RUN_SUITE("own files", played, files);
}
