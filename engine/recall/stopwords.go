// This file owns the English words that carry no topic. It must not know of
// anything else.

package recall

// isStopWord tells function words, folded, without apostrophes ("dont"). Words
// that also name things ("may", "us", "mine") are not in it. Other languages
// need no list: a frequent word weighs little by its frequency.
func isStopWord(word []byte) bool {
	switch string(word) {
	case "a", "about", "above", "after", "again", "against", "aint", "all", "also", "am", "an", "and", "any",
		"are", "arent", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both",
		"but", "by", "can", "cannot", "cant", "could", "couldnt", "did", "didnt", "do", "does", "doesnt",
		"doing", "dont", "down", "during", "each", "few", "for", "from", "further", "had", "hadnt", "has",
		"hasnt", "have", "havent", "having", "he", "her", "here", "hers", "herself", "him", "himself", "his",
		"how", "i", "if", "in", "into", "is", "isnt", "it", "its", "itself", "just", "me", "more", "most",
		"mustnt", "my", "myself", "no", "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other",
		"ought", "our", "ours", "ourselves", "out", "over", "own", "same", "shant", "she", "should", "shouldnt",
		"so", "some", "such", "than", "that", "the", "their", "theirs", "them", "themselves", "then", "there",
		"these", "they", "this", "those", "through", "to", "too", "under", "until", "up", "very", "was", "wasnt",
		"we", "were", "werent", "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will",
		"with", "wont", "would", "wouldnt", "you", "your", "yours", "yourself", "yourselves":
		return true
	}
	return false
}
