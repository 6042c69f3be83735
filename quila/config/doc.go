// Package config holds every constant of a Quila network: its shape, the
// options that choose between the letter of the specification and the form that
// was measured to learn, and the thresholds that the specification names
// without giving a value.
//
//	c, err := config.Profile("nano")
//	c, err = config.Parse([]byte(`{"name":"nano","code_bias":true}`))
//
//	Config   the constants; a field a name, its tags the group, source and range
//	Profile  nano, micro, small and 13b by name
//	Entry    a name with its value and where the value comes from, for printing
//	Counts   how many weights a network of that shape has, line by line
//
// A configuration has one text form, JSON with sorted keys, which a model file
// carries: the keys of the shape and of the options always, every other key
// only where its value is not the one of the profile that is named. [Parse]
// reports all unknown names and all values out of range as one error.
//
// # Sources
//
// The specification's own value is marked spec, one from measurements
// measured, and a starting value that nobody has measured yet start.
package config
