/* A number of a descriptor comes back by a message:
 *
 *	comes_back WAY OLD SENT
 *
 * opens OLD, reads of it, closes it in that way, and receives SENT by SCM_RIGHTS from itself, which gets the
 * number that was free. It reads all of SENT, and prints how many bytes that were.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = CMSG_SPACE(sizeof(int)) };

static void need(int is_so)
{
	if (!is_so)
		exit(2);
}

/* Opens and closes OLD. Its number is the lowest that is free. */
static int use(const char *way, const char *path)
{
	char text[4];
	FILE *file = NULL;
	int fd, copy;

	if (strstr(way, "fclose")) {
		need((file = fopen(path, "re")) && fread(text, 1, sizeof(text), file) == sizeof(text));
		fd = fileno(file);
	} else {
		need((fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0 && read(fd, text, sizeof(text)) > 0);
	}
	if (!strcmp(way, "fdopen-fclose"))
		need(!fclose(file) && (fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0 &&
		     (file = fdopen(fd, "r")) && !fclose(file));
	else if (!strcmp(way, "fclose"))
		need(!fclose(file));
	else if (!strcmp(way, "dup2"))
		need((copy = dup(STDIN_FILENO)) >= 0 && dup2(copy, fd) == fd && !close(copy) && !close(fd));
	else if (!strcmp(way, "dup"))
		need((copy = dup(fd)) >= 0 && !close(fd) && !close(copy));
	else if (!strcmp(way, "close_range"))
		need(!close_range((unsigned)fd, (unsigned)fd, 0));
	else if (!strcmp(way, "closedir"))
		need(!close(fd) && closedir(opendir(".")) == 0);
	else if (!strcmp(way, "pclose"))
		need(!close(fd) && pclose(popen("exit 0", "r")) == 0);
	else
		need(!close(fd));
	return fd;
}

int main(int count, char **args)
{
	char control[ROOM] = "", byte = 'x', block[4096];
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control,
				 .msg_controllen = ROOM};
	struct mmsghdr several = {.msg_hdr = message};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	int sockets[2], sent, got, freed;
	long sum = 0, bytes;

	need(count == 4 && !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	/* The number of this one is high, so that it stays when the lowest one comes back. */
	need((sent = open(args[3], O_RDONLY | O_CLOEXEC)) >= 0);
	need((got = fcntl(sent, F_DUPFD_CLOEXEC, 100)) == 100 && !close(sent));
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &got, sizeof(got));
	need(sendmsg(sockets[1], &message, 0) == 1);
	freed = use(args[1], args[2]);
	if (strlen(args[1]) % 2)
		need(recvmsg(sockets[0], &message, MSG_CMSG_CLOEXEC) == 1);
	else
		need(recvmmsg(sockets[0], &several, 1, MSG_CMSG_CLOEXEC, NULL) == 1);
	memcpy(&got, CMSG_DATA(head), sizeof(got));
	need(got == freed);
	while ((bytes = read(got, block, sizeof(block))) > 0)
		sum += bytes;
	printf("%ld\n", sum);
	return 0;
}
