/* Posts entries to accounts. The fault: an entry that takes more than there is ends the program in an
 * assertion. */
#include "beside.h"

#undef NDEBUG
#include <assert.h>

long accounts[16];

void post_entry(int account, long amount)
{
	accounts[account] += amount;
	assert(accounts[account] >= 0); /* FAULT */
}

void close_day(int day)
{
	for (int account = 0; account < 16; account++) {
		work(20);
		post_entry(account, day == 7 && account == 11 ? -900 : 100);
	}
}

int main(void)
{
	for (int day = 0; day < 30; day++)
		close_day(day);
	return 0;
}
