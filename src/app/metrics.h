/* SPDX-License-Identifier: Apache-2.0 */
/* metrics: the state of the process in the text format of Prometheus. */
#ifndef APP_METRICS_H
#define APP_METRICS_H

#include "base/buf.h"

struct app;

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Memory and /proc only: it is safe on the event loop, and works while the database does not. */
void metrics_write(struct app *app, struct buf *b);

#endif
