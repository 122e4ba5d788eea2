/* This program looks up users, hosts and file systems in every way that database.def and netdb.def have, and
 * prints how many calls it made (counts.h). It says nothing of what it finds, because that differs from
 * machine to machine. It asks nothing of a network.
 */
#define _GNU_SOURCE
#include <aliases.h>
#include <arpa/nameser.h>
#include <fstab.h>
#include <grp.h>
#include <gshadow.h>
#include <iconv.h>
#include <ifaddrs.h>
#include <locale.h>
#include <mntent.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <nl_types.h>
#include <pwd.h>
#include <resolv.h>
#include <shadow.h>
#include <stdio.h>
#include <ttyent.h>
#include <utmp.h>
#include <utmpx.h>
#include <wordexp.h>

#define CALLS(X) \
	X(io, getpwnam) X(io, getpwuid) X(io, getpwnam_r) X(io, getpwuid_r) \
	X(io, getpwent) X(io, getpwent_r) X(io, fgetpwent) \
	X(io, fgetpwent_r) X(io, putpwent) X(io, getgrnam) X(io, getgrgid) \
	X(io, getgrnam_r) X(io, getgrgid_r) X(io, getgrent) X(io, getgrent_r) \
	X(io, fgetgrent) X(io, fgetgrent_r) X(io, putgrent) X(io, getgrouplist) \
	X(io, initgroups) X(io, getspnam) X(io, getspnam_r) X(io, getspent) \
	X(io, getspent_r) X(io, fgetspent) X(io, fgetspent_r) X(io, putspent) \
	X(io, getsgnam) X(io, getsgnam_r) X(io, getsgent) X(io, getsgent_r) \
	X(io, fgetsgent) X(io, fgetsgent_r) X(io, putsgent) X(io, getaliasbyname) \
	X(io, getaliasbyname_r) X(io, getaliasent) X(io, getaliasent_r) X(io, setmntent) \
	X(io, getmntent) X(io, getmntent_r) X(io, addmntent) X(io, endmntent) \
	X(io, getfsent) X(io, getfsspec) X(io, getfsfile) X(io, getttyent) \
	X(io, getttynam) X(io, getutent) X(io, getutid) X(io, getutline) \
	X(io, pututline) X(io, getutent_r) X(io, getutid_r) X(io, getutline_r) \
	X(io, getutxent) X(io, getutxid) X(io, getutxline) X(io, pututxline) \
	X(io, updwtmp) X(io, updwtmpx) X(io, wordexp) X(io, setlocale) \
	X(io, newlocale) X(io, catopen) X(io, catclose) X(io, iconv_open) \
	X(io, iconv_close) X(net, getnetbyname_r) X(net, getnetbyaddr_r) X(net, getprotobyname_r) \
	X(net, getprotobynumber_r) X(net, getrpcbyname) X(net, getrpcbynumber) X(net, getrpcbyname_r) \
	X(net, getrpcbynumber_r) X(net, gethostent) X(net, getnetent) X(net, getservent) \
	X(net, getprotoent) X(net, getrpcent) X(net, gethostent_r) X(net, getnetent_r) \
	X(net, getservent_r) X(net, getprotoent_r) X(net, getrpcent_r) X(net, innetgr) \
	X(net, setnetgrent) X(net, getnetgrent) X(net, getnetgrent_r) X(net, getifaddrs) \
	X(net, if_nametoindex) X(net, if_indextoname) X(net, if_nameindex) X(net, ether_hostton) \
	X(net, ether_ntohost) X(net, __res_init) X(net, __res_ninit) X(net, res_query) \
	X(net, res_search) X(net, res_querydomain) X(net, res_send) X(net, res_nquery) \
	X(net, res_nsearch) X(net, res_nquerydomain) X(net, res_nsend)
#include "counts.h"

static char buffer[4096];
/* The name is longer than a name may be, so no server is asked for it. */
static char too_long[400];

/* Looks something up by a reentrant function. What it finds lies in `buffer`. */
#define FIND_R(function, type, ...)                                                     \
	do {                                                                            \
		struct type entry, *found;                                              \
											\
		CALL(function, __VA_ARGS__ &entry, buffer, sizeof(buffer), &found);     \
	} while (0)
#define FIND_NET_R(function, type, ...)                                                 \
	do {                                                                            \
		struct type entry, *found;                                              \
		int error;                                                              \
											\
		CALL(function, __VA_ARGS__ &entry, buffer, sizeof(buffer), &found, &error); \
	} while (0)
#define COMMA ,

static void use_users(FILE *file)
{
	struct passwd *user = CALL(getpwuid, 0);
	gid_t groups[20];
	int count = 20;

	NEED(user && CALL(getpwnam, user->pw_name));
	NEED(!CALL(getpwnam, "nobody of this name"));
	FIND_R(getpwnam_r, passwd, "root" COMMA);
	FIND_R(getpwuid_r, passwd, 0 COMMA);
	CALL(getpwent);
	FIND_R(getpwent_r, passwd, );
	endpwent();
	NEED((user = getpwuid(0)) && CALL(putpwent, user, file) == 0);
	COUNT(getpwuid);
	rewind(file);
	NEED(CALL(fgetpwent, file));
	FIND_R(fgetpwent_r, passwd, file COMMA);
	CALL(getgrouplist, "root", 0, groups, &count);
	CALL(initgroups, "root", 0);
}

static void use_groups(FILE *file)
{
	struct group *group = CALL(getgrgid, 0);

	NEED(group && CALL(getgrnam, group->gr_name));
	FIND_R(getgrnam_r, group, "root" COMMA);
	FIND_R(getgrgid_r, group, 0 COMMA);
	CALL(getgrent);
	FIND_R(getgrent_r, group, );
	endgrent();
	NEED((group = CALL(getgrgid, 0)) && CALL(putgrent, group, file) == 0);
	rewind(file);
	CALL(fgetgrent, file);
	FIND_R(fgetgrent_r, group, file COMMA);
}

static void use_passwords(FILE *file)
{
	static struct spwd password = {.sp_namp = "somebody", .sp_pwdp = "x"};
	static char *nobody[] = {NULL};
	static struct sgrp group = {.sg_namp = "some", .sg_passwd = "x", .sg_adm = nobody, .sg_mem = nobody};

	CALL(getspnam, "root");
	FIND_R(getspnam_r, spwd, "root" COMMA);
	CALL(getspent);
	FIND_R(getspent_r, spwd, );
	endspent();
	CALL(putspent, &password, file);
	rewind(file);
	CALL(fgetspent, file);
	FIND_R(fgetspent_r, spwd, file COMMA);
	CALL(getsgnam, "root");
	FIND_R(getsgnam_r, sgrp, "root" COMMA);
	CALL(getsgent);
	FIND_R(getsgent_r, sgrp, );
	endsgent();
	CALL(putsgent, &group, file);
	rewind(file);
	CALL(fgetsgent, file);
	FIND_R(fgetsgent_r, sgrp, file COMMA);
}

static void use_files(FILE *file)
{
	static const struct mntent added = {"none", "/none", "none", "ro", 0, 0};
	struct mntent mount;
	FILE *mounts;

	CALL(getaliasbyname, "postmaster");
	FIND_R(getaliasbyname_r, aliasent, "postmaster" COMMA);
	CALL(getaliasent);
	FIND_R(getaliasent_r, aliasent, );
	endaliasent();
	NEED((mounts = CALL(setmntent, "/proc/self/mounts", "r")) != NULL);
	NEED(CALL(getmntent, mounts));
	CALL(getmntent_r, mounts, &mount, buffer, sizeof(buffer));
	CALL(endmntent, mounts);
	CALL(addmntent, file, &added);
	CALL(getfsent);
	CALL(getfsspec, "none");
	CALL(getfsfile, "/none");
	endfsent();
	CALL(getttyent);
	CALL(getttynam, "tty1");
	endttyent();
}

static void use_sessions(void)
{
	static struct utmp at, got, *found;
	static struct utmpx atx;

	utmpname("/dev/null");
	CALL(getutent);
	CALL(getutid, &at);
	CALL(getutline, &at);
	CALL(pututline, &at);
	CALL(getutent_r, &got, &found);
	CALL(getutid_r, &at, &got, &found);
	CALL(getutline_r, &at, &got, &found);
	CALL(getutxent);
	CALL(getutxid, &atx);
	CALL(getutxline, &atx);
	CALL(pututxline, &atx);
	CALL(updwtmp, "/dev/null", &at);
	CALL(updwtmpx, "/dev/null", &atx);
	endutent();
}

static void use_languages(void)
{
	wordexp_t words;
	locale_t locale;
	nl_catd catalog;
	iconv_t way;

	NEED(CALL(wordexp, "one $(echo two three)", &words, 0) == 0 && words.we_wordc == 3);
	wordfree(&words);
	NEED(CALL(setlocale, LC_ALL, NULL));
	NEED((locale = CALL(newlocale, LC_ALL_MASK, "C", NULL)) != NULL);
	freelocale(locale);
	if ((catalog = CALL(catopen, "none", 0)) != (nl_catd)-1)
		NEED(!catclose(catalog));
	NEED(CALL(catclose, (nl_catd)-1) == -1);
	NEED((way = CALL(iconv_open, "UTF-8", "UTF-16LE")) != (iconv_t)-1 && CALL(iconv_close, way) == 0);
	NEED(CALL(iconv_open, "none", "none") == (iconv_t)-1);
}

static void use_networks(void)
{
	char *host, *user, *domain;

	FIND_NET_R(getnetbyname_r, netent, "loopback" COMMA);
	FIND_NET_R(getnetbyaddr_r, netent, 0 COMMA AF_INET COMMA);
	FIND_R(getprotobyname_r, protoent, "tcp" COMMA);
	FIND_R(getprotobynumber_r, protoent, 6 COMMA);
	CALL(getrpcbyname, "portmapper");
	CALL(getrpcbynumber, 100000);
	FIND_R(getrpcbyname_r, rpcent, "portmapper" COMMA);
	FIND_R(getrpcbynumber_r, rpcent, 100000 COMMA);
	CALL(gethostent);
	CALL(getnetent);
	CALL(getservent);
	CALL(getprotoent);
	CALL(getrpcent);
	FIND_NET_R(gethostent_r, hostent, );
	FIND_NET_R(getnetent_r, netent, );
	FIND_R(getservent_r, servent, );
	FIND_R(getprotoent_r, protoent, );
	FIND_R(getrpcent_r, rpcent, );
	CALL(innetgr, "none", NULL, NULL, NULL);
	CALL(setnetgrent, "none");
	CALL(getnetgrent, &host, &user, &domain);
	CALL(getnetgrent_r, &host, &user, &domain, buffer, sizeof(buffer));
	endnetgrent();
}

static void use_interfaces(void)
{
	struct ether_addr address = {{0}};
	struct if_nameindex *names;
	struct ifaddrs *addresses;
	char name[IF_NAMESIZE];

	if (CALL(getifaddrs, &addresses) == 0)
		freeifaddrs(addresses);
	NEED(CALL(if_nametoindex, "none at all") == 0);
	CALL(if_indextoname, 99999, name);
	if ((names = CALL(if_nameindex)) != NULL)
		if_freenameindex(names);
	CALL(ether_hostton, "none", &address);
	CALL(ether_ntohost, buffer, &address);
}

static void use_resolver(void)
{
	static struct __res_state state;
	unsigned char answer[100];

	memset(too_long, 'a', sizeof(too_long) - 1);
	CALL(__res_init);
	CALL(__res_ninit, &state);
	CALL(res_query, too_long, ns_c_in, ns_t_a, answer, sizeof(answer));
	CALL(res_search, too_long, ns_c_in, ns_t_a, answer, sizeof(answer));
	CALL(res_querydomain, too_long, "none", ns_c_in, ns_t_a, answer, sizeof(answer));
	CALL(res_nquery, &state, too_long, ns_c_in, ns_t_a, answer, sizeof(answer));
	CALL(res_nsearch, &state, too_long, ns_c_in, ns_t_a, answer, sizeof(answer));
	CALL(res_nquerydomain, &state, too_long, "none", ns_c_in, ns_t_a, answer, sizeof(answer));
	/* These calls fail before they send anything, because the answer has no room for its header. */
	CALL(res_send, answer, 0, answer, 0);
	CALL(res_nsend, &state, answer, 0, answer, 0);
	res_nclose(&state);
}

static void use_all(void)
{
	FILE *files[4];
	int k;

	for (k = 0; k < 4; k++)
		NEED((files[k] = tmpfile()) != NULL);
	use_users(files[0]);
	use_groups(files[1]);
	use_passwords(files[2]);
	use_files(files[3]);
	for (k = 0; k < 4; k++)
		fclose(files[k]);
	use_sessions();
	use_languages();
	use_networks();
	use_interfaces();
	use_resolver();
}

int main(int argc, char **argv)
{
	random_seed(0);
	run_rounds(argc > 1 ? atol(argv[1]) : 1, use_all);
	return 0;
}
