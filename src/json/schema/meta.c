/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meta: the meta-schemas of draft 2020-12, as far as they check something (no titles, no defaults).
 * compile.c refuses by itself what they refuse; they are here because a schema may refer to them.
 */
#include "json/schema/impl.h"

/* clang-format off */
static const struct {
	const char *uri, *text;
} documents[] = {
	{ "https://json-schema.org/draft/2020-12/schema",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-schema.org"
	  "/draft/2020-12/schema\",\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab/core\""
	  ":true,\"https://json-schema.org/draft/2020-12/vocab/applicator\":true,\"https://json-schema"
	  ".org/draft/2020-12/vocab/unevaluated\":true,\"https://json-schema.org/draft/2020-12/vocab/"
	  "validation\":true,\"https://json-schema.org/draft/2020-12/vocab/meta-data\":true,\"https://j"
	  "son-schema.org/draft/2020-12/vocab/format-annotation\":true,\"https://json-schema.org/draf"
	  "t/2020-12/vocab/content\":true},\"$dynamicAnchor\":\"meta\",\"allOf\":[{\"$ref\":\"meta/core\"},{\"$"
	  "ref\":\"meta/applicator\"},{\"$ref\":\"meta/unevaluated\"},{\"$ref\":\"meta/validation\"},{\"$ref\":\""
	  "meta/meta-data\"},{\"$ref\":\"meta/format-annotation\"},{\"$ref\":\"meta/content\"}],\"type\":[\"obj"
	  "ect\",\"boolean\"],\"properties\":{\"definitions\":{\"type\":\"object\",\"additionalProperties\":{\"$d"
	  "ynamicRef\":\"#meta\"}},\"dependencies\":{\"type\":\"object\",\"additionalProperties\":{\"anyOf\":[{\""
	  "$dynamicRef\":\"#meta\"},{\"$ref\":\"meta/validation#/$defs/stringArray\"}]}},\"$recursiveAnchor"
	  "\":{\"$ref\":\"meta/core#/$defs/anchorString\"},\"$recursiveRef\":{\"$ref\":\"meta/core#/$defs/uri"
	  "ReferenceString\"}}}" },
	{ "https://json-schema.org/draft/2020-12/meta/core",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-schema.org"
	  "/draft/2020-12/meta/core\",\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab/co"
	  "re\":true},\"$dynamicAnchor\":\"meta\",\"type\":[\"object\",\"boolean\"],\"properties\":{\"$id\":{\"$ref"
	  "\":\"#/$defs/uriReferenceString\",\"pattern\":\"^[^#]*#?$\"},\"$schema\":{\"$ref\":\"#/$defs/uriStri"
	  "ng\"},\"$ref\":{\"$ref\":\"#/$defs/uriReferenceString\"},\"$anchor\":{\"$ref\":\"#/$defs/anchorStrin"
	  "g\"},\"$dynamicRef\":{\"$ref\":\"#/$defs/uriReferenceString\"},\"$dynamicAnchor\":{\"$ref\":\"#/$def"
	  "s/anchorString\"},\"$vocabulary\":{\"type\":\"object\",\"propertyNames\":{\"$ref\":\"#/$defs/uriStri"
	  "ng\"},\"additionalProperties\":{\"type\":\"boolean\"}},\"$comment\":{\"type\":\"string\"},\"$defs\":{\"t"
	  "ype\":\"object\",\"additionalProperties\":{\"$dynamicRef\":\"#meta\"}}},\"$defs\":{\"anchorString\":{"
	  "\"type\":\"string\",\"pattern\":\"^[A-Za-z_][-A-Za-z0-9._]*$\"},\"uriString\":{\"type\":\"string\",\"fo"
	  "rmat\":\"uri\"},\"uriReferenceString\":{\"type\":\"string\",\"format\":\"uri-reference\"}}}" },
	{ "https://json-schema.org/draft/2020-12/meta/applicator",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-schema.org"
	  "/draft/2020-12/meta/applicator\",\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vo"
	  "cab/applicator\":true},\"$dynamicAnchor\":\"meta\",\"type\":[\"object\",\"boolean\"],\"properties\":{"
	  "\"prefixItems\":{\"$ref\":\"#/$defs/schemaArray\"},\"items\":{\"$dynamicRef\":\"#meta\"},\"contains\":"
	  "{\"$dynamicRef\":\"#meta\"},\"additionalProperties\":{\"$dynamicRef\":\"#meta\"},\"properties\":{\"ty"
	  "pe\":\"object\",\"additionalProperties\":{\"$dynamicRef\":\"#meta\"}},\"patternProperties\":{\"type\""
	  ":\"object\",\"additionalProperties\":{\"$dynamicRef\":\"#meta\"},\"propertyNames\":{\"format\":\"rege"
	  "x\"}},\"dependentSchemas\":{\"type\":\"object\",\"additionalProperties\":{\"$dynamicRef\":\"#meta\"}}"
	  ",\"propertyNames\":{\"$dynamicRef\":\"#meta\"},\"if\":{\"$dynamicRef\":\"#meta\"},\"then\":{\"$dynamicR"
	  "ef\":\"#meta\"},\"else\":{\"$dynamicRef\":\"#meta\"},\"allOf\":{\"$ref\":\"#/$defs/schemaArray\"},\"anyO"
	  "f\":{\"$ref\":\"#/$defs/schemaArray\"},\"oneOf\":{\"$ref\":\"#/$defs/schemaArray\"},\"not\":{\"$dynami"
	  "cRef\":\"#meta\"}},\"$defs\":{\"schemaArray\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"$dynamicRe"
	  "f\":\"#meta\"}}}}" },
	{ "https://json-schema.org/draft/2020-12/meta/unevaluated",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-schema.org"
	  "/draft/2020-12/meta/unevaluated\",\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/v"
	  "ocab/unevaluated\":true},\"$dynamicAnchor\":\"meta\",\"type\":[\"object\",\"boolean\"],\"properties\""
	  ":{\"unevaluatedItems\":{\"$dynamicRef\":\"#meta\"},\"unevaluatedProperties\":{\"$dynamicRef\":\"#me"
	  "ta\"}}}" },
	{ "https://json-schema.org/draft/2020-12/meta/validation",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-schema.org"
	  "/draft/2020-12/meta/validation\",\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vo"
	  "cab/validation\":true},\"$dynamicAnchor\":\"meta\",\"type\":[\"object\",\"boolean\"],\"properties\":{"
	  "\"type\":{\"anyOf\":[{\"$ref\":\"#/$defs/simpleTypes\"},{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs"
	  "/simpleTypes\"},\"minItems\":1,\"uniqueItems\":true}]},\"const\":true,\"enum\":{\"type\":\"array\",\"i"
	  "tems\":true},\"multipleOf\":{\"type\":\"number\",\"exclusiveMinimum\":0},\"maximum\":{\"type\":\"numbe"
	  "r\"},\"exclusiveMaximum\":{\"type\":\"number\"},\"minimum\":{\"type\":\"number\"},\"exclusiveMinimum\":"
	  "{\"type\":\"number\"},\"maxLength\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},\"minLength\":{\"$ref\":"
	  "\"#/$defs/nonNegativeInteger\"},\"pattern\":{\"type\":\"string\",\"format\":\"regex\"},\"maxItems\":{\""
	  "$ref\":\"#/$defs/nonNegativeInteger\"},\"minItems\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},\"un"
	  "iqueItems\":{\"type\":\"boolean\"},\"maxContains\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},\"minCo"
	  "ntains\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},\"maxProperties\":{\"$ref\":\"#/$defs/nonNegati"
	  "veInteger\"},\"minProperties\":{\"$ref\":\"#/$defs/nonNegativeInteger\"},\"required\":{\"$ref\":\"#/"
	  "$defs/stringArray\"},\"dependentRequired\":{\"type\":\"object\",\"additionalProperties\":{\"$ref\":"
	  "\"#/$defs/stringArray\"}}},\"$defs\":{\"nonNegativeInteger\":{\"type\":\"integer\",\"minimum\":0},\"s"
	  "impleTypes\":{\"enum\":[\"array\",\"boolean\",\"integer\",\"null\",\"number\",\"object\",\"string\"]},\"st"
	  "ringArray\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true}}}" },
	{ "https://json-schema.org/draft/2020-12/meta/meta-data",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-schema.org"
	  "/draft/2020-12/meta/meta-data\",\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/voc"
	  "ab/meta-data\":true},\"$dynamicAnchor\":\"meta\",\"type\":[\"object\",\"boolean\"],\"properties\":{\"t"
	  "itle\":{\"type\":\"string\"},\"description\":{\"type\":\"string\"},\"default\":true,\"deprecated\":{\"ty"
	  "pe\":\"boolean\"},\"readOnly\":{\"type\":\"boolean\"},\"writeOnly\":{\"type\":\"boolean\"},\"examples\":{"
	  "\"type\":\"array\",\"items\":true}}}" },
	{ "https://json-schema.org/draft/2020-12/meta/format-annotation",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-schema.org"
	  "/draft/2020-12/meta/format-annotation\",\"$vocabulary\":{\"https://json-schema.org/draft/202"
	  "0-12/vocab/format-annotation\":true},\"$dynamicAnchor\":\"meta\",\"type\":[\"object\",\"boolean\"],"
	  "\"properties\":{\"format\":{\"type\":\"string\"}}}" },
	{ "https://json-schema.org/draft/2020-12/meta/format-assertion",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-schema.org"
	  "/draft/2020-12/meta/format-assertion\",\"$vocabulary\":{\"https://json-schema.org/draft/2020"
	  "-12/vocab/format-assertion\":true},\"$dynamicAnchor\":\"meta\",\"type\":[\"object\",\"boolean\"],\"p"
	  "roperties\":{\"format\":{\"type\":\"string\"}}}" },
	{ "https://json-schema.org/draft/2020-12/meta/content",
	  "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"$id\":\"https://json-schema.org"
	  "/draft/2020-12/meta/content\",\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab"
	  "/content\":true},\"$dynamicAnchor\":\"meta\",\"type\":[\"object\",\"boolean\"],\"properties\":{\"conte"
	  "ntEncoding\":{\"type\":\"string\"},\"contentMediaType\":{\"type\":\"string\"},\"contentSchema\":{\"$dy"
	  "namicRef\":\"#meta\"}}}" },
};
/* clang-format on */

str
meta_text(str uri)
{
	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++)
		if (str_eq(uri, str_of(documents[i].uri)))
			return str_of(documents[i].text);
	return STR("");
}
