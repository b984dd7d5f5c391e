#include "fluid/acks/lines.h"

void acks_overflow(pi2_acks *run, const double *row, double over)
{
    double late[2], sum = 0.0, part = 0.0;
    for (int k = 0; k < run->bands; k++) {
        const acks_line *line = run->lines + k;
        const double waits = line->arrived - line->served, came = line->arrived - row[line->column + ARRIVED];
        late[k] = came < waits ? came : waits;
        sum += late[k];
    }
    if (sum > 0.0)
        part = over / sum < 1.0 ? over / sum : 1.0;
    for (int k = 0; k < run->bands; k++)
        run->lines[k].no_room = part * late[k];
}
