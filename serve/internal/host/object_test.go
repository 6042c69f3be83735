package host

import "testing"

func TestObject(t *testing.T) {
	for text, want := range map[string]string{"": "{}", `{"a":1}`: `{"a":1}`, `{"a":`: `{"INVALID_JSON":"{\"a\":"}`, "[1]": `{"INVALID_JSON":"[1]"}`, "null": `{"INVALID_JSON":"null"}`} {
		if got := string(Object(text)); got != want {
			t.Errorf("%q becomes %s, want %s", text, got, want)
		}
	}
}
