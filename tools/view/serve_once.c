/* A server for one fetch. See serve_once.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "serve_once.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* A request is short; one that goes on and on, or stops, does not keep the next one waiting. */
enum { REQUEST_BYTES = 16 << 10, PATIENCE_S = 10 };

static bool make_path(struct fxt_serve *s)
{
	unsigned char token[FXT_SERVE_TOKEN_BYTES];
	size_t used = 1;

	if (getrandom(token, sizeof(token), 0) != (ssize_t)sizeof(token))
		return false;
	s->path[0] = '/';
	for (size_t i = 0; i < sizeof(token); i++, used += 2)
		snprintf(s->path + used, sizeof(s->path) - used, "%02x", token[i]);
	snprintf(s->path + used, sizeof(s->path) - used, "/trace.fxt");
	return true;
}

bool fxt_serve_begin(struct fxt_serve *s, unsigned port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t bytes = sizeof(at);
	int one = 1, error;

	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return false;
	/* The port is free again at once when somebody looks at one trace after another. */
	setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (make_path(s) && bind(s->fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(s->fd, 8) == 0 &&
	    getsockname(s->fd, (struct sockaddr *)&at, &bytes) == 0) {
		s->port = ntohs(at.sin_port);
		return true;
	}
	error = errno;
	close(s->fd);
	errno = error;
	return false;
}

/* -- One request ----------------------------------------------------------------------------------- */

/* Reads a request to the end of its headers, as text. Returns false if there is none. */
static bool read_request(int fd, char request[REQUEST_BYTES])
{
	size_t used = 0;

	while (used < REQUEST_BYTES - 1) {
		ssize_t n = recv(fd, request + used, REQUEST_BYTES - 1 - used, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		used += (size_t)n;
		request[used] = '\0';
		if (strstr(request, "\r\n\r\n"))
			return true;
	}
	return false;
}

/* Returns whether a header of the request has this value. *is_there says whether there is one at all. */
static bool header_is(const char *request, const char *name, const char *value, bool *is_there)
{
	size_t name_bytes = strlen(name), value_bytes = strlen(value);

	*is_there = false;
	for (const char *line = strstr(request, "\r\n"); line; line = strstr(line, "\r\n")) {
		const char *end;

		line += 2;
		if (strncasecmp(line, name, name_bytes) != 0 || line[name_bytes] != ':')
			continue;
		*is_there = true;
		line += name_bytes + 1;
		line += strspn(line, " \t");
		end = strstr(line, "\r\n");
		return end && (size_t)(end - line) == value_bytes && memcmp(line, value, value_bytes) == 0;
	}
	return false;
}

static bool send_all(int fd, const char *data, uint64_t bytes)
{
	while (bytes) {
		ssize_t n = send(fd, data, bytes > 1 << 20 ? 1 << 20 : (size_t)bytes, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		bytes -= (uint64_t)n;
	}
	return true;
}

/* Answers without a body. */
static void refuse(int fd, const char *status)
{
	char text[128];

	snprintf(text, sizeof(text), "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);
	send_all(fd, text, strlen(text));
}

/* The page asks beforehand whether it may, because it comes from the network and this machine is none. */
static void permit(int fd)
{
	static const char text[] = "HTTP/1.1 204 No Content\r\n"
				   "Access-Control-Allow-Origin: " FXT_PERFETTO_UI "\r\n"
				   "Access-Control-Allow-Methods: GET\r\n"
				   "Access-Control-Allow-Private-Network: true\r\n"
				   "Vary: Origin\r\nConnection: close\r\n\r\n";

	send_all(fd, text, sizeof(text) - 1);
}

static bool give(int fd, const void *data, uint64_t bytes)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %llu\r\n"
		 "Access-Control-Allow-Origin: " FXT_PERFETTO_UI "\r\nVary: Origin\r\n"
		 "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
		 (unsigned long long)bytes);
	return send_all(fd, text, strlen(text)) && send_all(fd, data, bytes);
}

/* Returns whether the request line is METHOD PATH. */
static bool asks(const char *request, const char *method, const char *path)
{
	size_t method_bytes = strlen(method), path_bytes = strlen(path);

	return strncmp(request, method, method_bytes) == 0 && request[method_bytes] == ' ' &&
	       strncmp(request + method_bytes + 1, path, path_bytes) == 0 &&
	       request[method_bytes + 1 + path_bytes] == ' ';
}

/* Answers one request. Returns whether all was fetched. */
static bool answer(const struct fxt_serve *s, int fd, const void *data, uint64_t bytes)
{
	char request[REQUEST_BYTES], host[32];
	bool has_host, has_origin, is_host, is_origin;

	if (!read_request(fd, request))
		return false;
	snprintf(host, sizeof(host), "127.0.0.1:%u", s->port);
	is_host = header_is(request, "Host", host, &has_host);
	is_origin = header_is(request, "Origin", FXT_PERFETTO_UI, &has_origin);
	if (!is_host || (has_origin && !is_origin))
		refuse(fd, "403 Forbidden");
	else if (asks(request, "GET", s->path))
		return give(fd, data, bytes);
	else if (asks(request, "OPTIONS", s->path) && has_origin)
		permit(fd);
	else
		refuse(fd, "404 Not Found");
	return false;
}

bool fxt_serve_until_fetched(struct fxt_serve *s, const void *data, uint64_t bytes)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	bool is_fetched = false;
	int error = 0;

	while (!is_fetched && !error) {
		int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0) {
			error = errno == EINTR || errno == ECONNABORTED ? 0 : errno;
			continue;
		}
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
		is_fetched = answer(s, fd, data, bytes);
		/* The other side reads to the end before the connection goes. */
		shutdown(fd, SHUT_WR);
		while (recv(fd, (char[256]){0}, 256, 0) > 0)
			;
		close(fd);
	}
	close(s->fd);
	errno = error;
	return is_fetched;
}
