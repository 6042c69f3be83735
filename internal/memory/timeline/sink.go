package timeline

// A Sink receives the lines of a timeline, without line feeds.
type Sink interface {
	Line(string)
}

// Lines is a sink that keeps every line.
type Lines []string

// Line appends.
func (l *Lines) Line(s string) { *l = append(*l, s) }
