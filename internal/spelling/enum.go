package spelling

import "fmt"

// Enum returns the name of a value of an enumeration, from a table of names beside the
// constants, so that flags, JSON, logs and plans all use the same words:
//
//	var queueNames = []string{"Cpu", "Gpu"}
//
//	func (q Queue) String() string               { return spelling.Enum(queueNames, "Queue", q) }
//	func (q Queue) MarshalText() ([]byte, error) { return []byte(q.String()), nil }
//	func (q *Queue) UnmarshalText(b []byte) error { return spelling.ParseEnum(queueNames, "queue", b, q) }
//
// A value beyond the table is printed as its
// kind and number, as in "Queue(7)".
func Enum[E ~uint8](names []string, kind string, e E) string {
	if int(e) < len(names) {
		return names[e]
	}
	return fmt.Sprintf("%s(%d)", kind, uint8(e))
}

// ParseEnum sets e to the value with the given name. The error for an unknown name
// lists the known ones.
func ParseEnum[E ~uint8](names []string, kind string, text []byte, e *E) error {
	for i, n := range names {
		if n == string(text) {
			*e = E(i)
			return nil
		}
	}
	return fmt.Errorf("no %s %q; there are %v", kind, text, names)
}
