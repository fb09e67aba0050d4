/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitizer: tells AddressSanitizer and ThreadSanitizer which stack is in use. Without them it is nothing. Private to
 * base/fiber.
 */
#ifndef BASE_FIBER_SANITIZER_H
#define BASE_FIBER_SANITIZER_H

#include <stddef.h>

#ifndef __has_feature
#	define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#	define SANITIZER_ADDRESS 1
void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *save, const void **old_bottom, size_t *old_size);
#else
#	define SANITIZER_ADDRESS 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#	define SANITIZER_THREAD 1
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#else
#	define SANITIZER_THREAD 0
#endif

/* All zero: the thread's own, of which nothing is known before it is left for the first time. */
struct sanitizer_stack {
	char *bottom;
	size_t size;
	void *saved;  /* AddressSanitizer's */
	void *thread; /* ThreadSanitizer's */
};

static inline void
sanitizer_stack_init(struct sanitizer_stack *s, char *bottom, size_t size)
{
	*s = (struct sanitizer_stack){ .bottom = bottom, .size = size };
#if SANITIZER_THREAD
	s->thread = __tsan_create_fiber(0);
#endif
}

static inline void
sanitizer_stack_done(struct sanitizer_stack *s)
{
	(void)s;
#if SANITIZER_THREAD
	__tsan_destroy_fiber(s->thread);
#endif
}

/* Right before the switch. */
static inline void
sanitizer_leave(struct sanitizer_stack *from, struct sanitizer_stack *to)
{
	(void)from;
	(void)to;
#if SANITIZER_ADDRESS
	__sanitizer_start_switch_fiber(&from->saved, to->bottom, to->size);
#endif
#if SANITIZER_THREAD
	if (!from->thread)
		from->thread = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(to->thread, 0);
#endif
}

/* Right after it, on the other side: on `here`, from `there`. */
static inline void
sanitizer_arrive(struct sanitizer_stack *here, struct sanitizer_stack *there)
{
	(void)here;
	(void)there;
#if SANITIZER_ADDRESS
	const void *bottom;

	__sanitizer_finish_switch_fiber(here->saved, &bottom, &there->size);
	there->bottom = (char *)(size_t)bottom;
#endif
}

#endif
