// Package schema checks the values of records against JSON Schema: compiles
// documents, checks values, fills defaults in, finds what a new version removes,
// migrates values from version to version. All of it is pure: no clock, no lock,
// no store.
//
// # What is understood
//
// JSON Schema 2020-12 unless `$schema` names an older draft that the library
// knows. `format` is an annotation, as the standard has it. A document stands
// alone: `$ref` leads into the document itself or to a meta-schema; anything
// else is refused, so that no schema makes this server open a file or an address.
//
// # Why a library
//
// Validation is santhosh-tekuri/jsonschema, which passes the standard's own suite
// and reports every error with its place. Around it stands what a server needs
// and a library leaves out: limits. A value cannot make it compute exactly with a
// number of a million digits, and a schema whose references multiply (each step
// trying two more) is measured against each value before the library sees it.
//
// # Which error
//
// The library reports in the order of Go's maps. Of all errors the first by
// place is shown (names bytewise, indices by number, an outer place before an
// inner one), then by text. For a failed `anyOf` or `oneOf` whose branches all
// wanted another type it says so in one sentence, since that is how an optional
// value is written; for any other it names the alternative that came furthest.
//
// # Defaults
//
// A default is put in where its property is missing from an object that is
// there: by `properties`, along `items`, `prefixItems` and
// `additionalProperties`, through `$ref` and `allOf`. Branches that may not
// apply (`anyOf`, `oneOf`, `if`, `not`, `dependentSchemas`) fill nothing. The
// value's own text stays byte for byte.
//
// # Versions
//
// A version may add properties, never remove one: a property of the older
// version that the newer one does not declare, or declares as false, is a
// removal. Whether a schema is referred to, or stands in a branch, makes no
// difference. The migration of a version leads from the one before to it: a JSON
// array is a JSON Patch, an object is merged, null never overwriting. A value at
// an older version passes through all migrations since.
package schema
