package host

import "reflect"

// newLike returns a pointer to a zero value of what v points to.
func newLike(v any) any { return reflect.New(reflect.TypeOf(v).Elem()).Interface() }

// kindName is what JSON calls the values of a Go type.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return kindName(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "an integer"
}
