"""What the models read: sentences in both languages, relations marked by hand, templates, and pairs of sentences."""

import numpy as np

EN = [  # the heads are chosen on the first ten and scored on the last ten; ZH says the same, sentence by sentence
    "The animal didn't cross the street because it was too tired.",
    "The keys to the old cabinet are on the kitchen table.",
    "Paris is the capital of France, and Berlin is the capital of Germany.",
    "She poured water from the bottle into the cup until it was full.",
    "When the rain stopped, the children ran outside to play football.",
    "The professor who taught the course last year has retired.",
    "He bought a small red car, but his sister prefers large blue bicycles.",
    "The committee approved the new budget after a long and heated debate.",
    "Dogs bark, cats meow, and birds sing in the morning.",
    "My grandmother bakes bread every Sunday with flour from the local mill.",
    "The train to London leaves at nine, so we should hurry.",
    "Although the exam was difficult, most of the students passed it.",
    "The engineer fixed the broken machine with a simple piece of wire.",
    "In winter the lake freezes and people skate across it.",
    "The book that you lent me was one of the best novels I have read.",
    "Scientists discovered a new species of frog in the rain forest.",
    "The mayor promised the workers that they would receive higher wages.",
    "If you heat the metal, it expands; if you cool it, it contracts.",
    "The small village lies between two mountains and a deep river.",
    "Her brother wrote a long letter to the editor of the newspaper.",
]
ZH = [
    "动物没有过马路，因为它太累了。",
    "旧柜子的钥匙在厨房的桌子上。",
    "巴黎是法国的首都，柏林是德国的首都。",
    "她把瓶子里的水倒进杯子，直到它满了。",
    "雨停了以后，孩子们跑到外面踢足球。",
    "去年教这门课的教授已经退休了。",
    "他买了一辆红色的小汽车，但是他的妹妹喜欢蓝色的大自行车。",
    "经过长时间的激烈辩论，委员会批准了新的预算。",
    "狗叫，猫叫，鸟儿在早晨歌唱。",
    "我的奶奶每个星期天都用当地的面粉做面包。",
    "开往伦敦的火车九点出发，所以我们应该快一点。",
    "虽然考试很难，但是大多数学生都通过了。",
    "工程师用一根简单的铁丝修好了坏机器。",
    "冬天湖水结冰，人们在上面滑冰。",
    "你借给我的书是我读过的最好的小说之一。",
    "科学家在热带雨林里发现了一种新的青蛙。",
    "市长答应工人们，他们会得到更高的工资。",
    "如果你加热金属，它就会膨胀；如果你冷却它，它就会收缩。",
    "这个小村庄位于两座山和一条大河之间。",
    "她的哥哥给报社的编辑写了一封长信。",
]
WIDE = EN[0].replace("tired", "wide")
WIDE_ZH = ZH[0].replace("累", "宽")

# Relations in EN, marked by hand: determiners and their nouns, subjects and their verbs, verbs and their objects.
MARKED = [
    ("the animal, the street", "animal cross", "cross street"),
    ("the keys, the cabinet, the table", "keys are", ""),
    ("", "Paris is, Berlin is", ""),
    ("the bottle, the cup", "She poured", "poured water"),
    ("the rain, the children", "rain stopped, children ran", "play football"),
    ("the professor, the course", "", "taught course"),
    ("a car, his sister", "He bought, sister prefers", "bought car, prefers bicycles"),
    ("the committee, the budget, a debate", "committee approved", "approved budget"),
    ("the morning", "Dogs bark, cats meow, birds sing", ""),
    ("My grandmother, the mill", "grandmother bakes", "bakes bread"),
    ("The train", "train leaves, we hurry", ""),
    ("the exam, the students", "exam was", "passed it"),
    ("the engineer, the machine, a piece", "engineer fixed", "fixed machine"),
    ("the lake", "lake freezes, people skate", ""),
    ("the book, the novels", "book was, you lent, I read", ""),
    ("a species, the forest", "Scientists discovered", "discovered species"),
    ("the mayor, the workers", "mayor promised, they receive", "receive wages"),
    ("the metal", "it expands, it contracts", "heat metal"),
    ("the village, a river", "village lies", ""),
    ("her brother, a letter, the editor, the newspaper", "brother wrote", "wrote letter"),
]

RELATIONS = [  # the query first, then the word that it should attend to
    "determiner → noun",
    "subject → verb",
    "verb → subject",
    "verb → object",
    "object → verb",
]


def marked():
    """(sentence, relation, query word, target word) of all pairs in MARKED, both ways where RELATIONS has both."""
    for sentence, (nouns, subjects, objects) in enumerate(MARKED):
        for pairs, there, back in ((nouns, 0, None), (subjects, 1, 2), (objects, 3, 4)):
            for first, second in (pair.split() for pair in pairs.split(", ") if pair):
                yield sentence, there, first, second
                if back is not None:
                    yield sentence, back, second, first


SUBJECTS = "dog cat teacher doctor farmer king boy girl driver singer writer bird horse pilot nurse soldier"
OBJECTS = "ball book car house letter window table song door road picture boat apple bread chair clock"
VERBS = "opened found saw bought painted watched kept broke sold moved"
ADJECTIVES = "big old young small happy tall quiet rich strong kind"
BETWEEN = [[], [], ["quickly"], ["near", "the", "river"]]  # subject and verb
AFTER = [[], [], ["yesterday"], ["in", "the", "morning"]]
SUBJECTS_ZH = "老师 医生 国王 司机 歌手 作家 士兵 学生 孩子 农民 警察 记者"
OBJECTS_ZH = "书 房子 信 桌子 门 画 船 苹果 面包 椅子 汽车 手机"
VERBS_ZH = "买 卖 看见 打开 发现 喜欢 找到 带来"
BETWEEN_ZH = ["", "昨天", "在学校", "很快就"]  # subject and verb
BEFORE_ZH = ["一个", "那个", "很多", "新的", ""]  # the object


def templates(n):
    """English sentences, each a list of words, with the places of (query, target) for each of RELATIONS."""
    rng = np.random.default_rng(1)

    def some(words):
        return [str(word) for word in rng.choice(words.split(), rng.integers(0, 3), replace=False)]

    for _ in range(n):
        first, second = some(ADJECTIVES), some(ADJECTIVES)
        subject, verb, thing = (str(rng.choice(words.split())) for words in (SUBJECTS, VERBS, OBJECTS))
        between, after = BETWEEN[rng.integers(4)], AFTER[rng.integers(4)]
        words = ["The", *first, subject, *between, verb, "the", *second, thing, *after]
        s = 1 + len(first)
        v = s + len(between) + 1
        o = v + 2 + len(second)
        yield words, [(v + 1, o), (s, v), (v, s), (v, o), (o, v)]


def templates_zh(n):
    """Chinese sentences with their subject, verb and object."""
    rng = np.random.default_rng(2)
    for _ in range(n):
        subject, verb, thing = (str(rng.choice(words.split())) for words in (SUBJECTS_ZH, VERBS_ZH, OBJECTS_ZH))
        yield f"{subject}{rng.choice(BETWEEN_ZH)}{verb}了{rng.choice(BEFORE_ZH)}{thing}。", (subject, verb, thing)


# The last word decides what "it" is: with the first word the first noun, with the second word the second.
COREFERENCE = [
    ("The animal didn't cross the street because it was too {}.", "animal", "street", "tired", "wide"),
    ("The trophy doesn't fit in the suitcase because it is too {}.", "trophy", "suitcase", "big", "small"),
    ("The ball broke the window because it was so {}.", "ball", "window", "heavy", "fragile"),
    ("The table didn't fit through the door because it was too {}.", "table", "door", "wide", "narrow"),
    ("The fish ate the worm because it was {}.", "fish", "worm", "hungry", "tasty"),
    ("The truck passed the bus because it was going so {}.", "truck", "bus", "fast", "slow"),
    ("The dog chased the cat until it was {}.", "dog", "cat", "exhausted", "caught"),
    ("The statue fell off the shelf because it was not {}.", "statue", "shelf", "fixed", "level"),
    ("The rabbit fled from the wolf because it was {}.", "rabbit", "wolf", "scared", "dangerous"),
    ("The car hit the tree because it was {}.", "car", "tree", "speeding", "close"),
    ("The shirt did not go in the drawer because it was {}.", "shirt", "drawer", "dirty", "full"),
]
COPY = "Mr Lindqvist met Ms Okafor at the station. The next day Mr Lind"
