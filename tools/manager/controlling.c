/* See controlling.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "controlling.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "controller.h"
#include "tools/common/message.h"
#include "writer/provider.h"

/* Sets the address of a socket at `path`. A path that is too long for an address is reached by way of the
 * socket's directory, which *directory then has open. Returns false with errno. */
static bool set_address(struct sockaddr_un *address, const char *path, int *directory)
{
	const char *name = strrchr(path, '/');
	char *parent;

	*directory = -1;
	if (strlen(path) < sizeof(address->sun_path)) {
		memcpy(address->sun_path, path, strlen(path));
		return true;
	}
	errno = ENAMETOOLONG;
	if (!name || strlen(name) > sizeof(address->sun_path) / 2)
		return false;
	parent = fxt_format("%.*s", (int)(name - path), path);
	*directory = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(parent);
	if (*directory >= 0)
		snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d%s", *directory,
			 name);
	return *directory >= 0;
}

bool fxt_controlling_connect(struct fxt_controlling *c, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int directory, error = 0;

	*c = (struct fxt_controlling){.fd = -1};
	if (!set_address(&address, path, &directory))
		return false;
	c->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		error = errno;
	if (directory >= 0)
		close(directory);
	if (error)
		fxt_controlling_end(c);
	errno = error;
	return !error;
}

json_t *fxt_controlling_call(struct fxt_controlling *c, const char *method)
{
	return json_pack("{s:I, s:s}", "id", ++c->calls, "method", method);
}

bool fxt_controlling_send(struct fxt_controlling *c, json_t *call, int fd)
{
	struct fxt_packet packet = {.request = FXT_CONTROLLER_CALL};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {{.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
	char *text = json_dumps(call, JSON_COMPACT);
	struct iovec data[] = {{&packet, sizeof(packet)}, {text, strlen(text)}};
	struct msghdr header = {.msg_iov = data, .msg_iovlen = 2};
	bool sent;

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		header.msg_control = &control;
		header.msg_controllen = sizeof(control);
	}
	sent = sendmsg(c->fd, &header, MSG_NOSIGNAL) >= 0;
	free(text);
	json_decref(call);
	return sent;
}

json_t *fxt_controlling_receive(struct fxt_controlling *c, const char **text, size_t *bytes)
{
	static struct {
		struct fxt_packet packet;
		char text[4 * FXT_CONTROLLER_MOST_BYTES];
	} message;
	ssize_t received = recv(c->fd, &message, sizeof(message), 0);
	size_t length;

	if (received < (ssize_t)sizeof(message.packet))
		return NULL;
	length = (size_t)received - sizeof(message.packet);
	if (text) {
		*text = message.text;
		*bytes = length;
	}
	return json_loadb(message.text, length, 0, NULL);
}

void fxt_controlling_end(struct fxt_controlling *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}
