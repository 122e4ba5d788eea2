// This program leaks in one of the twenty functions that call a helper: the sessions that others take the
// place of are never freed. The other functions free what they get.
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#define APART __attribute__((noinline))

static char *dup_line(const std::string &s)
{
	char *p = static_cast<char *>(malloc(s.size() + 1));

	memcpy(p, s.c_str(), s.size() + 1);
	return p;
}

#define STAGE(number)							\
	APART static void stage##number()				\
	{								\
		for (int i = 0; i < 400; i++)				\
			free(dup_line(std::string(200 + number, 'a')));	\
	}
STAGE(1) STAGE(2) STAGE(3) STAGE(4) STAGE(5) STAGE(6) STAGE(7) STAGE(8) STAGE(9) STAGE(10)
STAGE(11) STAGE(12) STAGE(13) STAGE(14) STAGE(15) STAGE(16) STAGE(17) STAGE(18) STAGE(19)

static void all_stages()
{
	stage1(), stage2(), stage3(), stage4(), stage5(), stage6(), stage7(), stage8(), stage9(), stage10();
	stage11(), stage12(), stage13(), stage14(), stage15(), stage16(), stage17(), stage18(), stage19();
}

struct Session {
	std::vector<char *> headers;
};

static std::map<int, Session *> sessions;

APART static void open_session(int id)
{
	Session *session = new Session;

	for (int i = 0; i < 20; i++)
		session->headers.push_back(dup_line("header: " + std::string(300, 'x')));
	sessions[id % 10] = session;
}

int main()
{
	for (int i = 0; i < 2000; i++) {
		if (i % 200 == 0)
			all_stages();
		open_session(i);
	}
	return 0;
}
