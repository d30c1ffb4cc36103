#include "base.h"
const char *psc_version(void) { return PSC_VERSION; }
