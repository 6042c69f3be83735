package atenia

// SetLimit sets what a model finds when it asks, before every step, how much
// memory the process may have.
func (c *Config) SetLimit(f func() int64) {
	c.limit = func() (int64, bool) { return f(), false }
}
