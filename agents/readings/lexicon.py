"""What readings know of English: which words compare, add up or ask, and what sort of column they speak of.

Words are stems as ``pointwork.text.tokenize`` gives them; ``stems`` makes them from plain words.
"""

import re

from pointwork.text import tokenize


def stems(words: str) -> frozenset[str]:
    """The stems of some words."""
    return frozenset(tokenize(words, stop=False))


# Dimensions: what adjectives and nouns measure, and how columns of that sort are called.
_DIMENSIONS: dict[str, tuple[str, str]] = {
    # name: (words in questions, words in column names)
    "age": (
        "old older oldest elder eldest young younger youngest age ancient longest employed served serving",
        "age year born birth birthday dob built founded established opened date started made since",
    ),
    "steepness": ("steep steeper steepest", "slope gradient incline steepness"),
    "time": (
        "early earlier earliest late later latest recent recently new newer newest first last when date day "
        "begin began begun start started join joined since",
        "date day time year started start joined begin opened hired created when month evening",
    ),
    "thickness": ("thick thicker thickest thin thinner thinnest", "pages thickness mm"),
    "length": (
        "long longer longest short shorter shortest length",
        "length long m metres meters duration hours minutes pages km miles",
    ),
    "duration": (
        "long longer longest short shorter shortest quick quickest lasted duration take took "
        "spent time hour minute",
        "duration hours minutes seconds time length days nights",
    ),
    "size": (
        "big bigger biggest large larger largest small smaller smallest size",
        "size area capacity amount quantity population seats places",
    ),
    "height": (
        "high higher highest tall taller tallest low lower lowest height deep deepest",
        "height altitude elevation depth tall high level",
    ),
    "weight": ("heavy heavier heaviest light lighter lightest weigh weight", "weight mass kg g tonnes load"),
    "price": (
        "expensive dear dearer dearest cheap cheaper cheapest cost costly price priced charge "
        "charged fee paid pay worth rate fare",
        "price cost fee fare rate charge unit_price unit_cost amount tariff rent premium pound euro dollar",
    ),
    "pay": ("earn earned earns pay paid wage wages salary salaries", "wage salary pay earnings income rate"),
    "money": (
        "money revenue income earn earned took take taken takings made bring brought turnover "
        "sales proceeds raised",
        "takings revenue income amount total sales earnings turnover receipts paid proceeds",
    ),
    "heat": (
        "hot hotter hottest warm warmer warmest cold colder coldest cool coolest temperature mild freezing frost",
        "temperature temp c f celsius degrees max min",
    ),
    "wind": ("windy windier windiest wind gust stormy storm blow blew", "wind gust"),
    "rain": ("rain rained rainy rainiest wet wetter wettest dry driest rainfall", "rain rainfall precipitation"),
    "speed": ("fast faster fastest slow slower slowest speed quick quickest", "speed kmh knots mph pace"),
    "distance": ("far farther farthest further furthest near nearest distance", "distance km miles metres far"),
    "people": (
        "people persons guests visitors passengers travellers attendees customers busy busiest crowded full",
        "people persons guests visitors passengers travellers attendees attendance seats",
    ),
    "quantity": (
        "quantity amount units pieces items many number stock hand left available supply pcs copies",
        "quantity qty amount units pieces count number stock on_hand copies available sold",
    ),
    "worktime": ("hour hours work works worked", "hours hrs time"),
    "person": (
        "who whoever whom whose person name called employee",
        "name person member customer author skipper driver employee owner teacher guide keeper "
        "manager contact guest",
    ),
    "place": (
        "where place location kept stored stand stands live lives based",
        "place location site room shelf region city town bin station street country hall section area",
    ),
    "state": ("status state condition", "status state"),
    "rating": (
        "good better best bad worse worst popular rated rating score",
        "rating score stars grade points mark",
    ),
}
# Words of one family that no stemmer brings together.
_FAMILIES = (
    "pay paid payment unpaid payments",
    "max maximum highest",
    "min minimum lowest",
    "sell sold sale sales seller",
    "buy bought purchase purchased purchases buyer order orders ordered",
    "lend lent loan loaned borrow borrowed borrower",
    "return returned back returns",
    "send sent shipped ship shipment dispatched delivered delivery",
    "take taken took",
    "begin began start started",
    "hire hired employ employed joined join",
    "arrive arrival arrived arrives check-in",
    "leave left depart departure departed",
    "finish finished done complete completed end ended fixed mended",
    "build built construction",
    "die died death",
    "bear born birth birthday dob",
    "grow grown growth",
    "win won winner winning wins",
    "speak spoke speech",
    "teach taught teacher",
    "fly flew flown flight",
    "drive drove driven driver",
    "write wrote written writer author",
    "weigh weight",
    "long length",
    "high height tall",
    "wide width",
    "deep depth",
    "hot heat warm temperature",
    "earn earnings",
    "live lives lived residence",
    "guest guests visitor visitors",
    "children child kids kid",
    "town city village",
    "client clients customer customers",
    "employee employees worker workers staff",
    "movie film",
    "shop store",
    "supplier suppliers supplied supplies vendor",
    "stock stocked stored",
)
FAMILY = {stem: number for number, words in enumerate(_FAMILIES) for stem in sorted(stems(words))}
DIMENSIONS = [(stems(asked), stems(named)) for asked, named in _DIMENSIONS.values()]

# Superlatives: the direction in which the column is sorted. Of dates the "oldest" and "longest" are the least.
UP = stems(
    "most highest largest longest biggest greatest maximum max maximal top best heaviest tallest widest deepest "
    "strongest hardest warmest hottest fastest dearest latest newest youngest farthest furthest windiest wettest "
    "rainiest busiest richest steepest thickest loudest brightest worst"
)
DOWN = stems(
    "least lowest smallest shortest minimum min minimal fewest weakest coldest coolest slowest cheapest earliest "
    "oldest eldest soonest nearest closest lightest driest calmest narrowest thinnest poorest quietest"
)
# of dates: the last is the largest
LAST, FIRST = (
    stems("last latest newest youngest recent recently"),
    stems("first earliest oldest eldest soonest original"),
)
PLACES = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
DEAR = stems("expensive costly valuable")
EXPENSIVE = DEAR | stems("popular frequent recent productive")

AVERAGE = re.compile(r"\b(?:average|averages|averaged|(?<!\bI )mean|on average|typical(?:ly)?)\b", re.I)
MEDIAN = re.compile(r"\bmedian\b", re.I)
TOTAL = re.compile(
    r"\b(?:all\s+\w+\s+counted|total(?:s|led|ling)?|sum(?:med)?|altogether|all together|together|"
    r"in all|overall|combined|all told|"
    r"add(?:ed|s|ing)?(?:\s+\w+)?\s+up|whole|entire)\b",
    re.I,
)
COUNT = re.compile(r"\b(?:how many|number of|count(?:s|ed)?|how often|how many times|no\. of)\b", re.I)
PERCENT = re.compile(r"\b(?:percent(?:age)?|per\s?cent|%|what share|which share|proportion)\b", re.I)
AMOUNT = re.compile(r"\bhow much\b", re.I)
DISTINCT = re.compile(r"\b(?:different|distinct|unique|various|separate)\b", re.I)
WEEKDAY = re.compile(r"\bweekday\b|\bday\s+of\s+the\s+week\b", re.I)
_YOU = r"(?:can|could|would|will)\s+(?:you|anybody|anyone|somebody|someone)"
# How people lead up to what they ask.
POLITE = (
    r"(?:and|so|please|(?:please\s+)?(?:tell|remind)\s+(?:me|us)|(?:find|work)\s+out|check|look\s+up|"
    r"do\s+you\s+(?:happen\s+to\s+)?know|any\s+idea|"
    rf"{_YOU}\s+(?:please\s+|kindly\s+)?(?:tell\s+(?:me|us)|say|check|(?:find|work)\s+out|look\s+up)|"
    r"(?:i|we)(?:\s+would|['’]d)\s+(?:like|love|be\s+glad)\s+to\s+(?:know|learn|hear|find\s+out)|"
    r"(?:i|we)\s+(?:want|need)\s+to\s+(?:know|learn|find\s+out)|(?:i|we)\s+wonder|"
    r"(?:i['’]m|i\s+am|we['’]re|we\s+are)\s+(?:curious|wondering|trying\s+to\s+find\s+out)(?:\s+to\s+know)?|"
    r"(?:somebody|someone)\s+(?:asked|asks|wants\s+to\s+know|wanted\s+to\s+know)(?:\s+(?:me|us))?)"
)

_BE = r"(?:is|are|was|were|has|have|had|do|does|did|can|could|will)\b"
# "Could you give me …?", "Do you know how much …?" are no questions of yes or no, "Could you check whether …?" is.
EXISTS = re.compile(
    rf"^\W*(?:(?={POLITE}\W+(?:if\b|whether\b|{_BE}))|(?!{POLITE}\W|{_YOU}\b(?!.*\b(?:if|whether)\b)))"
    rf"{_BE}(?!.*\bor\b)[^?]*\?|"
    r"\b(?:is|are|was|were) there (?:any|a|an|one|some)\b|\bdo we have (?:any|a|an)\b",
    re.I | re.S,
)
# words of absence: the filter is an empty cell
ABSENT = re.compile(
    r"\b(?:not\s+(?:yet\s+)?(?:been\s+)?|never\s+(?:been\s+)?|(?:has|have|had|is|are|was|were|do|does|did)n['’]t\s+"
    r"(?:yet\s+)?(?:been\s+)?|left\s+(?:empty|blank|open)|empty|blank|unknown|no|without(?:\s+an?)?|missing|lacks?|lacking|nobody|no\s+one|still\s+needs?|(?:is|are|still)\s+free|still\s+(?:out|open|missing|unpaid|due))\b",
    re.I,
)
NEGATION = re.compile(
    r"\b(?:not|except(?:\s+for)?|other\s+than|excluding|without|apart\s+from|but\s+not|no|n['’]t)\b", re.I
)
# ... and of none: the filter is zero
NOTHING = re.compile(
    r"\b(?:no|zero|without(?: any| an?)?|not (?:a|an|any|one)(?: bit| single| drop)?(?: of)?|free of)\s+$", re.I
)
VALUE = re.compile(
    r"\b(?:worth|valued?|turnover|revenue|(?:come|came)s?\s+to|amounts?\s+to|owes?|spent|spend)\b", re.I
)
WORTH = re.compile(
    r"\b(?:worth|value[ds]?|revenue|turnover|come\s+to|came\s+to|earn(?:s|ed)?|bring(?:s)?\s+in|brought\s+in|"
    r"cost(?:s|ing)?|spent|spend|paid|pays?|bill|money|income|owed?s?|amounts?\s+to)\b",
    re.I,
)
# What was spent or came in, all of it.
TOOK = re.compile(
    r"\b(?:takings|what\s+(?:did|have|has)\s+[\w' -]{1,40}?\s+(?:spen[dt]|paid|pay|earned|earn|"
    r"invoiced?|charged?|promised|promise|raised?|taken\s+in|laid\s+out|brought\s+in)|(?:la(?:y|id)|laid)\s+out)\b",
    re.I,
)
QUANTITIES = stems(
    "quantity qty amount unit units pieces hand stock count number hours nights days weeks weekly "
    "copies tickets sold on_hand"
)
# What adds up over rows; prices, ages and temperatures do not.
THINGS = stems("quantity qty pieces units amount hand stock copies number items sold count")
ADDITIVE = stems(
    "takings revenue income amount total sales earnings turnover receipts proceeds quantity qty "
    "units pieces passengers visitors guests "
    "people persons attendees attendance hours minutes frames distance rain rainfall sold copies"
)
PRICES = stems("price cost wage pay fee fare rate charge tariff rent salary")
MONEY = PRICES | stems(
    "amount sum takings revenue income paid invoice pledge donation deposit dues "
    "eur euro usd gbp chf pound dollar franc crown"
)
# "an hour", "a packet of it": what one of them is worth
EACH = re.compile(
    r"\b(?:an|per|each|every)\s+(?P<one>hour|day|night|week|month|year|piece|unit|person|head)\b", re.I
)

COMPARED = re.compile(
    r"\b(?P<op>more than|greater than|higher than|larger than|bigger than|longer than|heavier than|taller than|"
    r"warmer than|colder than|older than|later than|over|above|exceed(?:s|ed|ing)?|beyond|"
    r"less than|fewer than|lower than|smaller than|shorter than|lighter than|cheaper than|earlier than|under|below|"
    r"[a-z]+er than|"
    r"not? (?:more|less|fewer|[a-z]+er) than|at least|from|at most|up to|a maximum of|a minimum of|"
    r"after|since|before|until|till|by the end of|exactly|equal to|priced at|of)\s+(?:the\s+)?(?:year\s+)?"
    r"(?P<value>two\b|three\b|four\b|five\b|six\b|seven\b|eight\b|nine\b|ten\b|twelve\b|twenty\b|[$€£]?\s?\d[\d,]*(?:\.\d+)?%?|\{\w+\})(?P<or>\s+(?:or|and)\s+(?:more|over|above|less|fewer|under|below|older|later|earlier))?",
    re.I,
)
OR_MORE = re.compile(
    r"(?P<value>\d[\d,]*(?:\.\d+)?)(?:\s*[^\W\d_]{1,12}(?:/[^\W\d_]{1,4})?)?\s+(?:or|and)\s+"
    r"(?P<way>more|over|above|longer|higher|older|larger|heavier|less|fewer|under|below|shorter|lower|younger|smaller|lighter)\b",
    re.I,
)
# "too cold", "shorter than", "early enough": below what is compared with
LESS = (
    r"(?:less|fewer|few|little|under|below|shorter|short|lower|low|colder|cold|cooler|cool|smaller|small|lighter|light|"
    r"cheaper|cheap|earlier|early|slower|slow|younger|young|weaker|weak|thinner|thin|narrower|narrow|shallower|shallow)"
)
TIMES = re.compile(r"\b(?:times|multiplied\s+by|x)\b|×|\*", re.I)
BELOW = re.compile(
    r"less|fewer|lower|smaller|shorter|lighter|younger|cheaper|colder|under|below|earlier|before", re.I
)

# Since when somebody is there.
JOINED = stems("joined join start started hired employed since began begin")
# Words for a date or a part of one.
DATED = stems(
    "date day night evening morning afternoon weekday week month quarter season year time when hour moment birthday"
)

# Columns of numbers that are years.
YEARS = stems("year born built founded established vintage since")

# What "how …" asks of a size, and of an age or a time besides.
SIZES = "far|tall|high|deep|wide|heavy|fast|hot|cold|warm|big|large"

# Words beside which a number without a currency is an amount of money.
PRICED = re.compile(
    r"\b(?:cost\w*|pric\w+|fees?|fares?|paid|pays?|charg\w+|worth|earn\w*|wages?|salar\w+|spen[dt]\w*|bills?|rents?|fines?|"
    r"deposits?|sold|sells?|bought|toll|tariff|premium|expens\w+)\b",
    re.IGNORECASE,
)

# What people say before they ask.
GREETING = (
    r"(?:(?:hello|hi|hey|dear\s+\w+|good\s+(?:morning|afternoon|evening|day)|thanks?|thank\s+you)(?:\s+(?:there|all|again|"
    r"everyone|everybody|team))?\b)"
)

# Words that ask or fill, and say nothing of what is asked about.
FILLER = stems(
    "many much find show tell list give name say look number please there get which what who whom whose where when "
    "why how need know want like see all every each any everybody everyone everything together added adding up "
    "total sum average mean count different distinct table tables list file csv data row rows "
    "column record records "
    "entry entries according our us we one ones been be among amongst looking at us with the of in on for a an "
    "made make makes did does do have has had go goes went come comes came put say says thing things exactly "
    "altogether just only ever alone whole entire overall combined far so still yet currently now let answer value "
    "appear appears occur occurs stand stands given work works working time times people person kind sort type "
    "weekday weekdays whoever percent percentage share proportion amount long longest most least "
    "highest lowest over under "
    "above below more less than fewer least"
)
