package column

import "batcher/schema"

// AppendValue appends a present value of a type that is not nested as JSON, in the
// form that AppendJSON gives it. v is the value as it stands in Plain, without a
// length before it.
func AppendValue(dst []byte, t *schema.Type, v []byte) []byte { return appendValue(dst, t, v) }
