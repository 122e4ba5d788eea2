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

/* Returns the turn of the records that a chunk has: that before the present one, if a ring's provider was
 * giving the chunk up when it was killed. */
static inline uint32_t fxt_client_turn(uint32_t entry)
{
	return ((entry >> 8) - (fxt_managed_state_of(entry) == FXT_MANAGED_OLDEST)) & 0xffffff;
}

/* Returns the chunk with this number if it consists of pages of slots; NULL: it does not. */
const uint64_t *fxt_client_pages(const struct fxt_client *p, uint32_t number);

/* Copies a small page of slots, or several if a record goes over the end of one; `left` words are behind
 * `pages`. Returns how many words that are; 0 if the framing is wrong, or keeps changing. */
size_t fxt_client_copy_pages(uint64_t *to, const uint64_t *pages, size_t left);

/* Calls `note` for each string that the provider's memory defines in front of its counters: those are the
 * names that our agent uses. Longer ones than 64 bytes are left out. */
void fxt_client_each_name(const struct fxt_client *p,
			  void (*note)(void *context, uint16_t index, const char *name, size_t bytes),
			  void *context);

#endif
