/* Threads get their names in every way there is. The program prints "TID NAME..." for each thread: the names
 * that it had, in their order, the first one being the program's.
 *
 * The main thread does all that is done to others, and is given names itself.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "need.h"

enum {
	BY_PTHREAD, BY_PRCTL, BY_NUMBER, BY_FILE, BY_VECTOR, BY_OTHER, BY_OTHERS_FILE, BY_STREAM,
	BY_OTHERS_STREAM, BY_FLUSH, BY_RELATIVE, TWICE, LONG, KINDS
};

static sem_t ready[KINDS], go[KINDS];
static pid_t tids[KINDS];
static const char *const names[KINDS] = {
	"pthread", "prctl", "number", "file", "vector", "other", "others-file", "stream", "others-stream",
	"flush", "relative", "second", "fifteen-letters",
};

static int file_of(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
	return open(path, O_WRONLY | O_CLOEXEC);
}

static void write_file(pid_t tid, const char *name)
{
	int fd = file_of(tid);

	need(fd >= 0 && write(fd, name, strlen(name)) == (ssize_t)strlen(name) && !close(fd));
}

static FILE *stream_of(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", getpid(), tid);
	return fopen(path, "w");
}

static void write_relative(const char *name)
{
	int folder = open("/proc/thread-self", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd, copy;

	fd = openat(folder, "comm", O_WRONLY | O_CLOEXEC);
	copy = dup(fd);
	need(folder >= 0 && fd >= 0 && copy >= 0 && write(copy, name, strlen(name)) > 0);
	close(copy);
	close(fd);
	close(folder);
}

static void name_itself(int kind)
{
	struct iovec parts[2] = {{(char *)"vec", 3}, {(char *)"tor", 3}};
	FILE *stream;
	int fd;

	switch (kind) {
	case BY_PTHREAD:
		need(!pthread_setname_np(pthread_self(), names[kind]));
		break;
	case BY_PRCTL:
		need(!prctl(PR_SET_NAME, names[kind]));
		break;
	case BY_NUMBER:
		need(!syscall(SYS_prctl, PR_SET_NAME, names[kind], 0, 0, 0));
		break;
	case BY_FILE:
		write_file(tids[kind], names[kind]);
		break;
	case BY_VECTOR:
		/* The kernel takes each part for a name. */
		fd = file_of(tids[kind]);
		need(fd >= 0 && writev(fd, parts, 2) > 0 && !close(fd));
		need(!prctl(PR_SET_NAME, names[kind]));
		break;
	case BY_STREAM:
		stream = stream_of(tids[kind]);
		need(stream && fputs(names[kind], stream) >= 0 && !fclose(stream));
		break;
	case BY_RELATIVE:
		write_relative(names[kind]);
		break;
	case TWICE:
		need(!pthread_setname_np(pthread_self(), "first") && !prctl(PR_SET_NAME, names[kind]));
		break;
	case LONG:
		need(!prctl(PR_SET_NAME, "fifteen-letters and more"));
		break;
	default:
		break;
	}
}

static void *run(void *argument)
{
	int kind = (int)(long)argument;

	tids[kind] = (pid_t)syscall(SYS_gettid);
	free(malloc(100));
	name_itself(kind);
	sem_post(&ready[kind]);
	sem_wait(&go[kind]);
	free(malloc(100));
	return NULL;
}

int main(void)
{
	pthread_t threads[KINDS];
	char wrong[16] = "";
	FILE *stream;
	long i;

	for (i = 0; i < KINDS; i++) {
		need(!sem_init(&ready[i], 0, 0) && !sem_init(&go[i], 0, 0));
		need(!pthread_create(&threads[i], NULL, run, (void *)i));
		while (sem_wait(&ready[i])) {}
	}
	need(!pthread_setname_np(threads[BY_OTHER], names[BY_OTHER]));
	write_file(tids[BY_OTHERS_FILE], "others-file\n");
	stream = stream_of(tids[BY_OTHERS_STREAM]);
	need(stream && fprintf(stream, "%s-%s", "others", "stream") > 0 && !fclose(stream));
	stream = stream_of(tids[BY_FLUSH]);
	need(stream && fputs(names[BY_FLUSH], stream) >= 0 && !fflush(stream) && !fclose(stream));
	/* These name nobody. */
	need(prctl(PR_SET_NAME, (char *)1) == -1);
	need(open("/proc/self/comm", O_RDONLY | O_CLOEXEC) >= 0);
	need(write(file_of(tids[BY_FILE]), wrong, 0) == 0);
	for (i = 0; i < KINDS; i++) {
		sem_post(&go[i]);
		pthread_join(threads[i], NULL);
		printf("%d %s\n", tids[i], names[i]);
	}
	return 0;
}
