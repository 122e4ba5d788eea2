/* What report knows of the calls of the C library. See call_roles.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "call_roles.h"

#include <stdlib.h>

#include "message.h"

static const struct fxt_role table[] = {
#define HEAP(call, what) {#call, FXT_FAMILY_HEAP, FXT_EFFECT_##what, "", "ptr"},
#define WAIT(call, object, which) {#call, FXT_FAMILY_WAIT, FXT_EFFECT_NONE, #object, #which},
#define FD(call, what, which) {#call, FXT_FAMILY_FD, FXT_EFFECT_##what, "", #which},
#include "call_roles.def"
#undef HEAP
#undef WAIT
#undef FD
};

static const struct fxt_role none;

static const struct fxt_role *find(const struct fxt_text *name)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (fxt_text_is(name, table[i].name))
			return &table[i];
	}
	return &none;
}

const struct fxt_role *fxt_role_of(struct fxt_roles *roles, struct fxt_reader *r,
				   const struct fxt_record *rec)
{
	uint32_t symbol = fxt_symbol(r, &rec->name);
	const struct fxt_role *role;

	while (roles->count <= symbol) {
		roles->by_symbol = fxt_grow(roles->by_symbol, &roles->capacity, roles->count + 1,
					    sizeof(struct fxt_role *));
		roles->by_symbol[roles->count++] = NULL;
	}
	if (!roles->by_symbol[symbol])
		roles->by_symbol[symbol] = find(&rec->name);
	role = roles->by_symbol[symbol];
	return role == &none || fxt_text_is(&rec->category, "function") ? NULL : role;
}

void fxt_roles_free(struct fxt_roles *roles)
{
	free(roles->by_symbol);
}
