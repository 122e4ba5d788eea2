/* Audits requests. Twenty functions copy texts with one helper. The fault: what one of them copies is
 * never freed. */
#include "beside.h"

char *copy_text(const char *text, size_t bytes)
{
	char *copy = malloc(bytes);

	must(copy != NULL, "malloc");
	memset(copy, 0, bytes);
	strcpy(copy, text);
	return copy;
}

#define AUDIT(name)                                     \
	void audit_##name(int request)                  \
	{                                               \
		char *copy = copy_text(#name, 900);     \
                                                        \
		copy[100] = (char)request;              \
		work(1);                                \
		free(copy);                             \
	}

AUDIT(accept) AUDIT(bind) AUDIT(cancel) AUDIT(commit) AUDIT(create) AUDIT(drop) AUDIT(expire) AUDIT(fetch)
AUDIT(grant) AUDIT(insert) AUDIT(join) AUDIT(list) AUDIT(merge) AUDIT(open) AUDIT(purge) AUDIT(revoke)
AUDIT(select) AUDIT(touch) AUDIT(update)

void audit_reject(int request)
{
	char *copy = copy_text("reject", 900); /* FAULT */

	copy[100] = (char)request;
	work(1);
}

void (*const audits[])(int) = {
	audit_accept, audit_bind, audit_cancel, audit_commit, audit_create, audit_drop, audit_expire,
	audit_fetch, audit_grant, audit_insert, audit_join, audit_list, audit_merge, audit_open,
	audit_purge, audit_reject, audit_revoke, audit_select, audit_touch, audit_update,
};

int main(void)
{
	for (int request = 0; request < 60000; request++)
		audits[request % 20](request);
	return 0;
}
