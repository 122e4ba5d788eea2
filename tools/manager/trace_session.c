/* See trace_session.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "trace_session.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "heir.h"
#include "tools/common/kernel_clock.h"
#include "tools/common/message.h"

enum {
	STOP_NS = 250 * 1000 * 1000,    /* how long providers have to answer FXT_MANAGER_STOP */
	LOOK_NS = 10 * 1000 * 1000,     /* between two looks at the memory of those that cannot ask */
	SAVE_NS = 100 * 1000 * 1000,    /* between two times that alerts or controllers save the buffers */
	TEXTS_NS = 100 * 1000 * 1000,   /* between two looks at calls in progress */
	TAKE_BACK_NS = 500 * 1000 * 1000,
	FIRST_FREE_ID = (1 << 22) + 1,  /* Linux's largest process number is 2^22 */
};

uint64_t fxt_now_ns(void)
{
	return fxt_clock_ns(CLOCK_MONOTONIC);
}

const char *fxt_session_state_name(enum fxt_session_state state)
{
	static const char *const names[] = {
		[FXT_SESSION_READY] = "READY",       [FXT_SESSION_INITIALIZED] = "INITIALIZED",
		[FXT_SESSION_STARTING] = "STARTING", [FXT_SESSION_STARTED] = "STARTED",
		[FXT_SESSION_STOPPING] = "STOPPING", [FXT_SESSION_STOPPED] = "STOPPED",
		[FXT_SESSION_TERMINATING] = "TERMINATING",
	};

	return names[state];
}

void fxt_trace_config_free(struct fxt_trace_config *config)
{
	for (size_t i = 0; i < config->spec_count; i++) {
		free(config->specs[i].name);
		free(config->specs[i].categories);
	}
	free(config->specs);
	free(config->categories);
	*config = (struct fxt_trace_config){0};
}

static void enter(struct fxt_session *s, enum fxt_session_state state)
{
	s->state = state;
	s->deadline_ns = 0;
	if (s->on_state)
		s->on_state(s->context, state);
}

/* -- What is wanted ---------------------------------------------------------------------------- */

static const struct fxt_provider_spec *spec_of(const struct fxt_session *s, const char *name)
{
	for (size_t i = 0; i < s->config.spec_count; i++)
		if (strcmp(s->config.specs[i].name, name) == 0)
			return &s->config.specs[i];
	return NULL;
}

uint64_t fxt_session_buffer_bytes(const struct fxt_session *s, const char *name)
{
	const struct fxt_provider_spec *spec = spec_of(s, name);
	uint64_t bytes = spec && spec->has_size ? spec->buffer_bytes : s->config.buffer_bytes;

	return s->config.most_bytes && s->config.most_bytes < bytes ? s->config.most_bytes : bytes;
}

const char *fxt_session_categories(const struct fxt_session *s, const char *name)
{
	const struct fxt_provider_spec *spec = spec_of(s, name);

	return spec && spec->categories ? spec->categories : s->config.categories;
}

uint32_t fxt_session_new_id(struct fxt_session *s, uint32_t pid)
{
	bool is_new = false;

	s->providers++;
	if (pid)
		fxt_map_put(&s->ids, pid, 0, &is_new);
	return is_new ? pid : s->next_id++;
}

/* -- Changes of state -------------------------------------------------------------------------- */

void fxt_session_initialize(struct fxt_session *s, const struct fxt_trace_config *config)
{
	s->config = *config;
	if (!s->config.memory_bytes)
		s->config.memory_bytes = fxt_memory_usual(config->mode);
	/* The number 0 is that of providers who number none. */
	if (!++s->number)
		s->number = 1;
	s->providers = 0;
	s->next_id = FIRST_FREE_ID;
	s->dropped = s->overwritten = s->given_up = 0;
	s->cut_off = 0;
	s->files++;
	s->was_saved = s->hears_first = false;
	s->save_waits = false;
	for (size_t i = 0; i < s->count; i++)
		fxt_client_new_session(s->clients[i]);
	enter(s, FXT_SESSION_INITIALIZED);
	fxt_heir_session(s->heir, s);
}

enum fxt_start_error fxt_session_start(struct fxt_session *s, enum fxt_buffer_disposition disposition,
				       const char *categories)
{
	switch (s->state) {
	case FXT_SESSION_READY: return FXT_START_NOT_INITIALIZED;
	case FXT_SESSION_STARTING:
	case FXT_SESSION_STARTED: return FXT_START_ALREADY_STARTED;
	case FXT_SESSION_STOPPING: return FXT_START_STOPPING;
	case FXT_SESSION_TERMINATING: return FXT_START_TERMINATING;
	default: break;
	}
	/* What is in the archive already must not come again. */
	if (s->was_saved)
		disposition = FXT_CLEAR_ENTIRE;
	free(s->additional);
	s->additional = categories ? fxt_strdup(categories) : NULL;
	enter(s, FXT_SESSION_STARTING);
	s->deadline_ns = fxt_now_ns() + s->config.start_timeout_ns;
	for (size_t i = 0; i < s->count; i++)
		fxt_client_start(s->clients[i], s, disposition);
	fxt_session_advance(s);
	return FXT_START_OK;
}

static void stop_all(struct fxt_session *s)
{
	s->deadline_ns = fxt_now_ns() + STOP_NS;
	for (size_t i = 0; i < s->count; i++)
		fxt_client_stop(s->clients[i], s);
}

enum fxt_stop_error fxt_session_stop(struct fxt_session *s, bool saves)
{
	if (s->state == FXT_SESSION_READY || s->state == FXT_SESSION_TERMINATING)
		return FXT_STOP_NOT_INITIALIZED;
	if (!fxt_session_runs(s))
		return FXT_STOP_NOT_STARTED;
	s->saves_at_stop = saves || s->config.mode == FXT_BUFFERING_STREAMING;
	enter(s, FXT_SESSION_STOPPING);
	stop_all(s);
	fxt_session_advance(s);
	return s->archive.has_failed ? FXT_STOP_ABORTED : FXT_STOP_OK;
}

void fxt_session_terminate(struct fxt_session *s)
{
	if (s->state == FXT_SESSION_READY || s->state == FXT_SESSION_TERMINATING)
		return;
	enter(s, FXT_SESSION_TERMINATING);
	s->hears_first = true;
	stop_all(s);
}

static void finish_stop(struct fxt_session *s)
{
	s->was_saved = s->saves_at_stop;
	for (size_t i = 0; i < s->count && s->saves_at_stop; i++)
		fxt_client_save(s->clients[i], s, false);
	enter(s, FXT_SESSION_STOPPED);
}

static void finish_session(struct fxt_session *s)
{
	for (size_t i = 0; i < s->count; i++)
		fxt_client_terminate(s->clients[i], s);
	fxt_archive_close(&s->archive);
	fxt_map_free(&s->ids);
	fxt_trace_config_free(&s->config);
	free(s->additional);
	s->additional = NULL;
	enter(s, FXT_SESSION_READY);
	fxt_heir_session(s->heir, s);
}

/* Returns whether a provider has to answer before the present change is over. */
static bool awaits_any(const struct fxt_session *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (fxt_client_is_changing(s->clients[i], s))
			return true;
	return false;
}

/* -- Saving all that there is ------------------------------------------------------------------- */

static void save_all(struct fxt_session *s, uint64_t now_ns)
{
	s->save_ns = now_ns;
	for (size_t i = 0; i < s->count; i++)
		fxt_client_save(s->clients[i], s, false);
}

bool fxt_session_save(struct fxt_session *s)
{
	uint64_t now_ns = fxt_now_ns();

	if (!fxt_session_runs(s) || s->config.mode != FXT_BUFFERING_STREAMING)
		return true;
	s->save_waits |= now_ns < s->save_ns + SAVE_NS;
	if (!s->save_waits)
		save_all(s, now_ns);
	return !s->save_waits;
}

uint64_t fxt_session_dropped(struct fxt_session *s)
{
	uint64_t dropped = s->dropped + s->archive.unwritten;

	for (size_t i = 0; i < s->count; i++)
		if (s->clients[i]->id)
			dropped += fxt_client_lost(s->clients[i]).dropped;
	return dropped;
}

uint64_t fxt_session_overwritten(struct fxt_session *s)
{
	uint64_t overwritten = s->overwritten;

	for (size_t i = 0; i < s->count; i++)
		if (s->clients[i]->id)
			overwritten += fxt_client_lost(s->clients[i]).overwritten;
	return overwritten;
}

/* Saves what an alert or a controller has waited for. */
static void save_late(struct fxt_session *s, uint64_t now_ns)
{
	s->save_waits = false;
	if (s->state != FXT_SESSION_READY)
		save_all(s, now_ns);
	if (s->config.mode != FXT_BUFFERING_STREAMING)
		fxt_session_rotate(s);
	else if (s->on_save)
		s->on_save(s->context);
}

void fxt_session_alert(struct fxt_session *s, const char *name)
{
	if (s->state == FXT_SESSION_STARTED && s->config.mode != FXT_BUFFERING_STREAMING)
		s->save_waits = true;
	if (s->on_alert)
		s->on_alert(s->context, name);
	fxt_session_advance(s);
}

/* Returns whether there are providers whose memory has to be looked at, because they cannot ask for it. */
static bool has_mute(const struct fxt_session *s)
{
	if (s->config.mode != FXT_BUFFERING_STREAMING || !fxt_session_runs(s))
		return false;
	for (size_t i = 0; i < s->count; i++)
		if (s->clients[i]->is_mute)
			return true;
	return false;
}

static void look(struct fxt_session *s, uint64_t now_ns)
{
	s->look_ns = now_ns + LOOK_NS;
	for (size_t i = 0; i < s->count; i++)
		fxt_client_look(s->clients[i], s);
}

/* Reads what long calls in progress point to. This takes a hundredth of the time at most. */
static void look_at_texts(struct fxt_session *s, uint64_t now_ns)
{
	uint64_t took_ns;

	for (size_t i = 0; i < s->count; i++)
		fxt_client_texts_look(s->clients[i]);
	took_ns = fxt_now_ns() - now_ns;
	s->texts_ns = now_ns + (took_ns * 100 > TEXTS_NS ? took_ns * 100 : TEXTS_NS);
}

static uint64_t earlier(uint64_t due_ns, uint64_t at_ns)
{
	return !due_ns || at_ns < due_ns ? at_ns : due_ns;
}

uint64_t fxt_session_due(const struct fxt_session *s)
{
	uint64_t due_ns = s->deadline_ns;

	if (s->save_waits)
		due_ns = earlier(due_ns, s->save_ns + SAVE_NS);
	if (has_mute(s))
		due_ns = earlier(due_ns, s->look_ns);
	if (s->count && fxt_session_runs(s))
		due_ns = earlier(due_ns, s->texts_ns);
	return due_ns;
}

void fxt_session_advance(struct fxt_session *s)
{
	uint64_t now_ns = fxt_now_ns();

	if (s->save_waits && now_ns >= s->save_ns + SAVE_NS)
		save_late(s, now_ns);
	if (now_ns >= s->look_ns && has_mute(s))
		look(s, now_ns);
	if (now_ns >= s->texts_ns && fxt_session_runs(s))
		look_at_texts(s, now_ns);
	if (now_ns >= s->take_back_ns) {
		s->take_back_ns = now_ns + TAKE_BACK_NS;
		fxt_memory_take_back(s, now_ns);
	}
	if (!s->deadline_ns || (now_ns < s->deadline_ns && (awaits_any(s) || s->hears_first)))
		return;
	if (s->state == FXT_SESSION_STARTING)
		enter(s, FXT_SESSION_STARTED);
	else if (s->state == FXT_SESSION_STOPPING)
		finish_stop(s);
	else if (s->state == FXT_SESSION_TERMINATING)
		finish_session(s);
}

/* Has the names and strings of all providers written again. */
static void name_again(struct fxt_session *s)
{
	for (size_t i = 0; i < s->count; i++)
		fxt_client_new_file(s->clients[i]);
	fxt_heir_session(s->heir, s);
}

void fxt_session_rotate(struct fxt_session *s)
{
	bool has_turned;

	if (s->state == FXT_SESSION_READY)
		return;
	if (!s->archive.keep && fxt_archive_resume(&s->archive))
		name_again(s);
	if (s->archive.is_given)
		return;
	has_turned = s->archive.keep ? fxt_archive_keep_turn(&s->archive, fxt_now_ns())
				     : s->rotate_bytes && s->archive.bytes >= s->rotate_bytes;
	if (!has_turned)
		return;
	if (!s->archive.keep)
		fxt_archive_rotate(&s->archive, s->rotate_count);
	s->files++;
	name_again(s);
}
