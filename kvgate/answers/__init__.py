"""The answers of the commands as data and as HTML, for a page that asks in the reader's own tab.

Pure: the site's web worker runs it. What a command prints as JSON is made here too, or below here,
so that both say the same.
"""
