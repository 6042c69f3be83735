// Package manifest reads and writes the description of a library of C nodes, a
// file beside the library, so that a catalogue does not need to load it:
//
//	filters.amp.so
//	filters.amp.json    {"abi": [2, 0], "sha256": "…", "vendor": "…", "version": "1.2",
//	                     "isolate": false,
//	                     "nodes": [{"type": "OnePole", "inputs": ["in"], "outputs": ["out"],
//	                                "params": ["a", "thermo.heat"], "caps": ["v2", "backward", "f64"],
//	                                "oversample_ratio": 1, "declared_delay": 0, "jacobian": "toeplitz"}]}
//
// Inputs, outputs and params may be given as numbers; their names are then in0,
// out0, p0 and so on. Unknown keys and capabilities are ignored, since a later
// minor version may define them. Manifests are untrusted input: [Parse] bounds
// what it reads and reports where a fault is.
package manifest
