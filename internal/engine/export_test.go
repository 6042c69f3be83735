package engine

// SetLimit sets what an engine finds when it asks how much memory the process may
// have. It then asks before every step.
func (c *Config) SetLimit(f func() (bytes int64, stalled bool)) { c.Limit = f }

// Need is what an engine says that it needs now. It must be called between two
// steps.
func (e *Engine) Need() int64 { return e.pressure.need() }
