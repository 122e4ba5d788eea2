/* See afterwards.h. A descendant is waited for if it is connected to the manager, or has the agent mapped: it
 * may not have recorded anything yet. One that the agent is not in is not waited for.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "afterwards.h"

#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/message.h"
#include "tools/printing/print.h"

enum { STEP_MS = 100, SHOWN = 3 };

/* How long programs are waited for that may be about to end or to begin. Those that are not
 * connected are looked for more and more rarely. */
static const uint64_t GRACE_NS = 500000000, MOST_LOOK_NS = 2000000000;

/* Handles what happens, for a tenth of a second at most. *has_changed says whether descendants have ended.
 * Returns false if recording is to stop. */
static bool step(const struct fxt_afterwards *a, bool *has_changed)
{
	struct pollfd one = {.fd = a->descendants ? fxt_descendants_fd(a->descendants) : -1,
			     .events = POLLIN};
	bool goes_on = true;
	uint64_t told;

	if (a->saver->socket)
		goes_on = fxt_saver_step(a->saver, STEP_MS);
	else
		poll(&one, 1, STEP_MS);
	*has_changed = a->descendants && read(one.fd, &told, sizeof(told)) > 0;
	return goes_on;
}

/* Returns whether programs are connected. Of those that are over, all was saved then. */
static bool are_connected(const struct fxt_afterwards *a)
{
	return a->saver->socket && fxt_saver_has_programs(a->saver);
}

static void say_following(const struct fxt_afterwards *a)
{
	struct fxt_descendant *list;
	bool is_whole;
	size_t count = fxt_descendants_list(a->descendants, &list, a->agent, &is_whole), recorded = 0;
	char *names = fxt_strdup("");

	for (size_t i = 0; i < count; i++)
		if (list[i].has_agent && recorded++ < SHOWN) {
			char *more = fxt_format("%s%s%s %d", names, *names ? ", " : "", list[i].name,
						(int)list[i].pid);

			free(names);
			names = more;
		}
	if (recorded)
		fxt_error(NULL, "%s has ended; what goes on is recorded until it ends, or until Ctrl-C: %s%s",
			  a->options->command[0], names, recorded > SHOWN ? ", ..." : "");
	free(names);
	free(list);
}

/* Returns whether programs that are not connected can be looked for: with a list of those that are followed,
 * others have the agent too. */
static bool finds_others(const struct fxt_afterwards *a)
{
	const char *follow = a->options->follow ? a->options->follow : getenv("FXT_FOLLOW");

	return !follow || !*follow || strcmp(follow, "all") == 0;
}

/* What is known of the descendants. */
struct known {
	bool any;                       /* there are some, or may be some that were not found */
	bool may_record;                /* one of them may record */
};

static struct known look(const struct fxt_afterwards *a)
{
	struct fxt_descendant *list;
	bool is_whole;
	size_t count = fxt_descendants_list(a->descendants, &list, a->agent, &is_whole);
	struct known known = {count || !is_whole, false};

	for (size_t i = 0; i < count; i++)
		known.may_record |= list[i].has_agent;
	free(list);
	return known;
}

static void follow(const struct fxt_afterwards *a)
{
	/* `none_ns` is the time since which nobody was seen who may record; 0: somebody was. */
	uint64_t begin_ns = fxt_now_ns(), look_ns = 0, none_ns = 0, now_ns = begin_ns;
	bool has_said = a->options->quiet, has_changed = true, connected;
	struct known known = {false, false};

	while (!fxt_descendants_are_left(a->descendants)) {
		connected = are_connected(a);
		if (has_changed || none_ns || (!connected && now_ns >= look_ns)) {
			known = look(a);
			look_ns = now_ns + (now_ns - begin_ns) / 8;
			look_ns = look_ns < now_ns + MOST_LOOK_NS ? look_ns : now_ns + MOST_LOOK_NS;
		}
		if (!known.any && !connected)
			return;
		/* Who is connected and no descendant was started elsewhere, and may go on for ever. */
		if (known.any && (connected || (known.may_record && finds_others(a))))
			none_ns = 0;
		else if (!none_ns)
			none_ns = now_ns;
		else if (now_ns - none_ns >= GRACE_NS)
			return;
		if (!has_said && now_ns - begin_ns > GRACE_NS) {
			say_following(a);
			has_said = true;
		}
		if (!step(a, &has_changed))
			return;
		now_ns = fxt_now_ns();
	}
}

/* Waits for programs that are about to end, or to begin files where there is no manager. */
static void linger(const struct fxt_afterwards *a)
{
	bool has_files = a->descendants && !a->saver->socket, has_changed;
	uint64_t end_ns = fxt_now_ns() + GRACE_NS;

	while ((are_connected(a) || (has_files && look(a).any)) && fxt_now_ns() < end_ns &&
	       step(a, &has_changed))
		;
}

static void add_left(struct fxt_run *run, const struct fxt_descendant *one)
{
	size_t capacity = run->left_count;

	for (size_t i = 0; i < run->left_count; i++)
		if (run->left[i].pid == one->pid)
			return;
	run->left = fxt_grow(run->left, &capacity, run->left_count + 1, sizeof(*run->left));
	run->left[run->left_count++] = *one;
}

static void note_left(const struct fxt_afterwards *a, struct fxt_run *run)
{
	const struct fxt_session *session = &a->saver->manager.session;
	bool is_whole;

	if (a->descendants)
		run->left_count = fxt_descendants_list(a->descendants, &run->left, a->agent, &is_whole);
	for (size_t i = 0; a->saver->socket && i < session->count; i++) {
		const struct fxt_client *p = session->clients[i];
		struct fxt_text name = {.text = p->name, .bytes = (uint32_t)p->name_bytes};
		struct fxt_descendant one = {.pid = p->pid, .has_agent = true};
		char *text;

		if (!p->id)
			continue;
		text = fxt_printable(&name, sizeof(one.name) - 1, false);
		strncpy(one.name, text, sizeof(one.name) - 1);
		free(text);
		add_left(run, &one);
	}
}

void fxt_record_afterwards(const struct fxt_afterwards *a, struct fxt_run *run)
{
	if (a->descendants && (a->options->is_detached || run->signal))
		fxt_descendants_leave(a->descendants);
	if (a->descendants && a->saver->socket)
		fxt_manager_watch(&a->saver->manager, fxt_descendants_fd(a->descendants));
	if (a->descendants && !fxt_descendants_are_left(a->descendants))
		follow(a);
	else
		linger(a);
	note_left(a, run);
}
