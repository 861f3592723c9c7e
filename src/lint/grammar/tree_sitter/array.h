/* The dynamic array that the Python grammar's scanner.c expects beside it.
 *
 * libtree-sitter 0.20 does not install such a header and the grammar's sdist does not carry one.
 * This one keeps short arrays inside the structure: the scanner restores its state before every
 * token, and would otherwise allocate twice each time. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { kArrayInline = 64 };

#define Array(T)           \
  struct {                 \
    T* contents;           \
    uint32_t size;         \
    uint32_t capacity;     \
    T local[kArrayInline]; \
  }

#define array_init(self) \
  ((self)->contents = (self)->local, (self)->size = 0, (self)->capacity = kArrayInline)

#define array_delete(self)                                         \
  do {                                                             \
    if ((self)->contents != (self)->local) free((self)->contents); \
    array_init(self);                                              \
  } while (0)

#define array_get(self, index) (&(self)->contents[index])
#define array_back(self) (&(self)->contents[(self)->size - 1])
#define array_pop(self) ((self)->contents[--(self)->size])

#define array_reserve(self, wanted)                                                          \
  ((self)->contents = array_grow((self)->contents, (self)->local, sizeof(*(self)->contents), \
                                 (self)->size, &(self)->capacity, (uint32_t)(wanted)))

#define array_push(self, element)                                                    \
  do {                                                                               \
    if ((self)->size == (self)->capacity) array_reserve(self, 2 * (self)->capacity); \
    (self)->contents[(self)->size++] = (element);                                    \
  } while (0)

/* Returns storage for at least `wanted` elements that holds the present `size` ones. */
static inline void* array_grow(void* contents, void* local, size_t element, uint32_t size,
                               uint32_t* capacity, uint32_t wanted) {
  if (wanted <= *capacity) return contents;
  void* grown = realloc(contents == local ? NULL : contents, wanted * element);
  if (grown == NULL) abort();
  if (contents == local) memcpy(grown, local, size * element);
  *capacity = wanted;
  return grown;
}
