/* See controller_facts.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "controller_facts.h"

#include "client.h"
#include "tools/analysis/categories.h"

enum { MOST_LISTED = 500 };             /* providers in an answer */

json_t *fxt_controller_known_categories(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < fxt_category_count; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "name", fxt_categories[i].name,
						      "description", fxt_categories[i].what));
	return json_pack("{s:o}", "categories", list);
}

/* Returns a name as JSON can have it. */
static json_t *text_of(const struct fxt_client *p)
{
	json_t *text = json_stringn(p->name, p->name_bytes);

	return text ? text : json_string("?");
}

json_t *fxt_controller_providers(const struct fxt_session *session)
{
	json_t *list = json_array();

	for (size_t i = 0; i < session->count && json_array_size(list) < MOST_LISTED; i++) {
		const struct fxt_client *p = session->clients[i];

		if (p->state != FXT_CLIENT_CONNECTED)
			json_array_append_new(list, json_pack("{s:i, s:i, s:o, s:s}", "id", (int)p->page,
							      "pid", (int)p->pid, "name", text_of(p), "state",
							      fxt_client_state_name(p->state)));
	}
	return json_pack("{s:o}", "providers", list);
}

/* Returns ProviderStats of one provider. */
static json_t *stats_of(struct fxt_client *p, const struct fxt_session *session)
{
	static const char *const modes[] = {"ONESHOT", "CIRCULAR", "STREAMING"};
	const struct fxt_managed_header *header = (const struct fxt_managed_header *)p->memory;
	double end = (double)atomic_load(&header->durable_data_end);
	double used = p->durable_bytes ? 100.0 * end / (double)p->durable_bytes : 0;
	struct fxt_client_losses lost = fxt_client_lost(p);

	return json_pack("{s:o, s:i, s:s, s:I, s:I, s:I, s:f, s:I}", "name", text_of(p), "pid", (int)p->pid,
			 "buffering_mode", modes[session->config.mode], "buffer_wrapped_count",
			 (json_int_t)fxt_client_wraps(p, session), "records_dropped",
			 (json_int_t)lost.dropped, "records_overwritten", (json_int_t)lost.overwritten,
			 "percentage_durable_buffer_used", used, "non_durable_bytes_written",
			 (json_int_t)fxt_client_written(p));
}

json_t *fxt_controller_stop_result(const struct fxt_session *session)
{
	json_t *list = json_array();

	for (size_t i = 0; i < session->count && json_array_size(list) < MOST_LISTED; i++)
		if (session->clients[i]->id && session->clients[i]->memory)
			json_array_append_new(list, stats_of(session->clients[i], session));
	return json_pack("{s:o}", "provider_stats", list);
}
