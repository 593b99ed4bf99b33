// The supervisor of the runs that tests start.
#include "skald/process.h"

int main(int count, char** words) { return count == 2 ? skald::supervise(words[1]) : 2; }
