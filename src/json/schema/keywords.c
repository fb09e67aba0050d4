/* SPDX-License-Identifier: Apache-2.0 */
#include "json/schema/impl.h"

#define CORE	    VOCABULARY_CORE
#define APPLICATOR  VOCABULARY_APPLICATOR
#define VALIDATION  VOCABULARY_VALIDATION
#define UNEVALUATED VOCABULARY_UNEVALUATED
#define TUPLES	    VOCABULARY_TUPLES
#define ANNOTATION  VOCABULARY_ANNOTATION

#define NUMBERS (1u << JSON_NUMBER)
#define STRINGS (1u << JSON_STRING)
#define ARRAYS	(1u << JSON_ARRAY)
#define OBJECTS (1u << JSON_OBJECT)
#define ANY	~0u

/* STR is not a constant expression in a static table. */
#define NAME(literal)                                                                                        \
	{                                                                                                    \
		literal, sizeof(literal) - 1                                                                 \
	}

#define HERE  true
#define BELOW false

/*
 * In the order of checking: what is cheap and says most comes first, and what asks for the
 * results of others (unevaluated...) last. A row without a check only has to be well formed.
 */
/* clang-format off */
const struct keyword schema_keywords[] = {
	{ NAME("$schema"),             CORE, SHAPE_PLAIN, BELOW, 0, compile_uri, NULL },
	{ NAME("$id"),                 CORE, SHAPE_PLAIN, BELOW, 0, compile_uri, NULL },
	{ NAME("$anchor"),             CORE, SHAPE_PLAIN, BELOW, 0, compile_anchor, NULL },
	{ NAME("$dynamicAnchor"),      CORE, SHAPE_PLAIN, BELOW, 0, compile_anchor, NULL },
	{ NAME("$vocabulary"),         CORE, SHAPE_PLAIN, BELOW, 0, compile_vocabulary, NULL },
	{ NAME("$comment"),            CORE, SHAPE_PLAIN, BELOW, 0, compile_string, NULL },
	{ NAME("$defs"),               CORE, SHAPE_MAP, BELOW, 0, compile_map, NULL },
	{ NAME("definitions"),         CORE, SHAPE_MAP, BELOW, 0, compile_map, NULL },
	{ NAME("$recursiveRef"),       CORE, SHAPE_PLAIN, BELOW, 0, compile_uri, NULL },
	{ NAME("$recursiveAnchor"),    CORE, SHAPE_PLAIN, BELOW, 0, compile_anchor, NULL },

	{ NAME("title"),               ANNOTATION, SHAPE_PLAIN, BELOW, 0, compile_string, NULL },
	{ NAME("description"),         ANNOTATION, SHAPE_PLAIN, BELOW, 0, compile_string, NULL },
	{ NAME("deprecated"),          ANNOTATION, SHAPE_PLAIN, BELOW, 0, compile_bool, NULL },
	{ NAME("readOnly"),            ANNOTATION, SHAPE_PLAIN, BELOW, 0, compile_bool, NULL },
	{ NAME("writeOnly"),           ANNOTATION, SHAPE_PLAIN, BELOW, 0, compile_bool, NULL },
	{ NAME("examples"),            ANNOTATION, SHAPE_PLAIN, BELOW, 0, compile_array, NULL },
	{ NAME("contentMediaType"),    ANNOTATION, SHAPE_PLAIN, BELOW, 0, compile_string, NULL },
	{ NAME("contentEncoding"),     ANNOTATION, SHAPE_PLAIN, BELOW, 0, compile_string, NULL },
	{ NAME("contentSchema"),       ANNOTATION, SHAPE_SCHEMA, BELOW, 0, compile_schema, NULL },

	{ NAME("type"),                VALIDATION, SHAPE_PLAIN, BELOW, ANY, compile_type, check_type },
	{ NAME("const"),               VALIDATION, SHAPE_PLAIN, BELOW, ANY, compile_any, check_const },
	{ NAME("enum"),                VALIDATION, SHAPE_PLAIN, BELOW, ANY, compile_array, check_enum },
	{ NAME("minimum"),             VALIDATION, SHAPE_PLAIN, BELOW, NUMBERS, compile_number, check_minimum },
	{ NAME("maximum"),             VALIDATION, SHAPE_PLAIN, BELOW, NUMBERS, compile_number, check_maximum },
	{ NAME("exclusiveMinimum"),    VALIDATION, SHAPE_PLAIN, BELOW, NUMBERS, compile_number, check_above },
	{ NAME("exclusiveMaximum"),    VALIDATION, SHAPE_PLAIN, BELOW, NUMBERS, compile_number, check_below },
	{ NAME("multipleOf"),          VALIDATION, SHAPE_PLAIN, BELOW, NUMBERS, compile_divisor, check_multiple },
	{ NAME("minLength"),           VALIDATION, SHAPE_PLAIN, BELOW, STRINGS, compile_count, check_min_length },
	{ NAME("maxLength"),           VALIDATION, SHAPE_PLAIN, BELOW, STRINGS, compile_count, check_max_length },
	{ NAME("pattern"),             VALIDATION, SHAPE_PLAIN, BELOW, STRINGS, compile_pattern, check_pattern },
	{ NAME("format"),              CORE, SHAPE_PLAIN, BELOW, STRINGS, compile_format, check_format },

	{ NAME("$ref"),                CORE, SHAPE_PLAIN, HERE, ANY, compile_ref, check_ref },
	{ NAME("$dynamicRef"),         CORE, SHAPE_PLAIN, HERE, ANY, compile_ref, check_ref },

	{ NAME("minItems"),            VALIDATION, SHAPE_PLAIN, BELOW, ARRAYS, compile_count, check_min_items },
	{ NAME("maxItems"),            VALIDATION, SHAPE_PLAIN, BELOW, ARRAYS, compile_count, check_max_items },
	{ NAME("uniqueItems"),         VALIDATION, SHAPE_PLAIN, BELOW, ARRAYS, compile_bool, check_unique },
	{ NAME("prefixItems"),         TUPLES, SHAPE_LIST, BELOW, ARRAYS, compile_list, check_prefix },
	{ NAME("items"),               APPLICATOR, SHAPE_SCHEMA, BELOW, ARRAYS, compile_schema, check_items },
	{ NAME("contains"),            APPLICATOR, SHAPE_SCHEMA, BELOW, ARRAYS, compile_contains, check_contains },
	{ NAME("minContains"),         VALIDATION, SHAPE_PLAIN, BELOW, ARRAYS, compile_count, NULL },
	{ NAME("maxContains"),         VALIDATION, SHAPE_PLAIN, BELOW, ARRAYS, compile_count, NULL },

	{ NAME("minProperties"),       VALIDATION, SHAPE_PLAIN, BELOW, OBJECTS, compile_count, check_min_members },
	{ NAME("maxProperties"),       VALIDATION, SHAPE_PLAIN, BELOW, OBJECTS, compile_count, check_max_members },
	{ NAME("required"),            VALIDATION, SHAPE_PLAIN, BELOW, OBJECTS, compile_members, check_members },
	{ NAME("properties"),          APPLICATOR, SHAPE_MAP, BELOW, OBJECTS, compile_members, check_members },
	{ NAME("patternProperties"),   APPLICATOR, SHAPE_MAP, BELOW, OBJECTS, compile_patterns, check_patterns },
	{ NAME("additionalProperties"), APPLICATOR, SHAPE_SCHEMA, BELOW, OBJECTS, compile_schema, check_additional },
	{ NAME("propertyNames"),       APPLICATOR, SHAPE_SCHEMA, BELOW, OBJECTS, compile_schema, check_names },
	{ NAME("dependentRequired"),   VALIDATION, SHAPE_PLAIN, BELOW, OBJECTS, compile_names, check_dependent_names },
	{ NAME("dependentSchemas"),    APPLICATOR, SHAPE_MAP, HERE, OBJECTS, compile_map, check_dependent },
	{ NAME("dependencies"),        APPLICATOR, SHAPE_MIXED_MAP, HERE, OBJECTS, compile_dependencies, check_dependent },

	{ NAME("allOf"),               APPLICATOR, SHAPE_LIST, HERE, ANY, compile_list, check_all },
	{ NAME("anyOf"),               APPLICATOR, SHAPE_LIST, HERE, ANY, compile_list, check_any },
	{ NAME("oneOf"),               APPLICATOR, SHAPE_LIST, HERE, ANY, compile_list, check_one },
	{ NAME("not"),                 APPLICATOR, SHAPE_SCHEMA, HERE, ANY, compile_schema, check_not },
	{ NAME("if"),                  APPLICATOR, SHAPE_SCHEMA, HERE, ANY, compile_if, check_if },
	{ NAME("then"),                APPLICATOR, SHAPE_SCHEMA, HERE, 0, compile_schema, NULL },
	{ NAME("else"),                APPLICATOR, SHAPE_SCHEMA, HERE, 0, compile_schema, NULL },

	{ NAME("unevaluatedItems"),    UNEVALUATED, SHAPE_SCHEMA, BELOW, ARRAYS, compile_schema, check_unevaluated_items },
	{ NAME("unevaluatedProperties"), UNEVALUATED, SHAPE_SCHEMA, BELOW, OBJECTS, compile_schema, check_unevaluated_members },
};
/* clang-format on */
const size_t schema_keyword_count = sizeof(schema_keywords) / sizeof(schema_keywords[0]);

const struct keyword *
keyword_find(str name)
{
	for (size_t i = 0; i < schema_keyword_count; i++)
		if (str_eq(schema_keywords[i].name, name))
			return &schema_keywords[i];
	return NULL;
}
