#include <stdio.h>

int main(void)
{
	return puts("bpk") < 0;
}
