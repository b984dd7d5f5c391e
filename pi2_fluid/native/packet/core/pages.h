/* Pages of memory. */
#pragma once

#include <stddef.h>

/* Wishes for large pages, where the system has them, for memory that nothing has touched yet: what lies far apart in it
 * is then found without a look into tables that are far away themselves. */
void pi2_large_pages(void *memory, size_t bytes);
