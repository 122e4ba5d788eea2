/* Calls a function of a library for each item. The fault: the library is opened and closed for each of
 * them. */
#include "beside.h"

#include <dlfcn.h>

double apply_plugin(double x)
{
	void *library = dlopen("libm.so.6", RTLD_NOW); /* FAULT */
	double (*function)(double);

	must(library != NULL, "dlopen");
	*(void **)&function = dlsym(library, "cbrt");
	x = function(x);
	dlclose(library); /* FAULT */
	return x;
}

int main(void)
{
	double sum = 0;

	for (int item = 0; item < 600; item++) {
		work(50);
		sum += apply_plugin(item);
	}
	printf("%g\n", sum);
	return 0;
}
