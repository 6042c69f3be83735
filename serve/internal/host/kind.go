package host

import "reflect"

// kept returns a function that sets what v points to back to what it is now.
func kept(v any) (reset func()) {
	x := reflect.ValueOf(v).Elem()
	was := reflect.New(x.Type()).Elem()
	was.Set(x)
	return func() { x.Set(was) }
}

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
