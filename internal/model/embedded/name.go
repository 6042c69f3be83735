package embedded

// Name is what the model is called in results, and what opens it.
const Name = "atenia-story"
