// Package plans has the conformance rows of what is computed before a network
// exists: configurations, budgets, devices and the schedule of their drivers,
// and the rows of the second part, which say that they are not there yet.
package plans
