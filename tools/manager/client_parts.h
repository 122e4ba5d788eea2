/* What the files of a provider (client.h) share with each other. */
#ifndef FXT_TOOLS_CLIENT_PARTS_H
#define FXT_TOOLS_CLIENT_PARTS_H

#include "client.h"

/* Sends a message, with a text and a descriptor (-1: none). One that the provider has no room for is dropped:
 * it reads nothing, and is left alone. */
void fxt_client_say_with(const struct fxt_client *p, struct fxt_packet packet, const char *text, int fd);

void fxt_client_say(const struct fxt_client *p, enum fxt_manager_request request, uint32_t data32,
		    uint64_t data64, const char *text);

/* Enters a state. A provider that has messages to read is woken. */
void fxt_client_enter(struct fxt_client *p, struct fxt_session *session, enum fxt_client_state state);

/* Send INITIALIZE for the present session, START and STOP. */
void fxt_client_initialize(struct fxt_client *p, struct fxt_session *session);
void fxt_client_ask_to_start(struct fxt_client *p, struct fxt_session *session,
			     enum fxt_buffer_disposition disposition);
void fxt_client_ask_to_stop(struct fxt_client *p, struct fxt_session *session);

/* Saves a rolling buffer, and says so. Stops the provider if it costs too much. */
void fxt_client_serve_save(struct fxt_client *p, struct fxt_session *session,
			   const struct fxt_packet *packet);

/* Maps the memory that came with INITIALIZED, which has said its size, or with FORKED (0). Returns NULL, or
 * what is wrong with it. */
const char *fxt_client_map(struct fxt_client *p, const struct fxt_session *session, int fd, uint64_t bytes);

#endif
