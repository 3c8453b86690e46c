"""Which inputs ask for what is remembered."""

import time
import unicodedata

import pytest

from tests.support.tables import every_row
from understudy.retrieval.memory_request import asks_for_memory

ASKS = """
What do you know about me?
Sở thích của tôi là gì?
我的偏好是什么？
Do you know anything about my team?
how much do you know about our billing setup?
What facts do you have about us?
What information have you stored about me?
Is anything saved about my allergies?
Do you recall what colour we chose for the logo?
What can you remember from our chat on Monday?
Can you remember which airline I like?
Can you recall the recipe we tried in spring?
Have you forgotten my birthday?
Did you forget what I asked for?
You don't remember me?
Remember me?
Remember what we agreed for the wedding?
Remind me what we settled on for the menu.
Remind me of our refund policy.
Which hotel did we pick?
What did we agree on for the rent?
What did I say about garlic?
Have I told you about my knee?
Did I already mention my landlord to you?
Use what I told you about my diet.
Look into your memory for my passport expiry.
Consult your long-term memory first.
List your learnings.
What memories do you have of the trip?
Based on what you've learned about me, suggest a gift.
Show me what you remember about the garden.
Tell me all you know about me
where were we?
Let's continue where we left off.
In our last conversation, which paint did I want?
Refresh my memory: who is the caterer?
What have you picked up about my writing style?
What do you have on file about us?
Do you have any memory of our earlier talk?
Who did I say is the plumber?
What's stored in your memory?
do you still know my dog's name
Have I brought up my new flat already?
Any clue which gift I wanted last year?
你知道我的什么信息？
你对我了解多少？
你都记得我哪些习惯？
你还记得我对什么过敏吗？
关于我，你知道些什么？
我之前跟你说过我的生日吗？
我们上次决定去哪家餐厅？
上次我们聊到哪里了？
列出你所有的记忆。
查一下你的记忆，看看房东叫什么。
根据你记住的口味推荐一道菜。
你從我們的對話裡學到了什麼？
你不会忘了我的生日吧？
我告诉过你我住哪吗？
我们最后选了哪种颜色？
Bạn biết gì về tôi?
Bạn có biết sở thích của tôi không?
Bạn còn nhớ tôi dị ứng với gì không?
Bạn nhớ những gì về gia đình tôi?
Tôi đã nói với bạn về chuyến đi chưa?
Lần trước chúng ta chọn khách sạn nào?
Hãy xem trong trí nhớ của bạn.
Dựa vào những gì bạn đã học về tôi, gợi ý một món quà.
Chúng ta đã thống nhất màu gì cho phòng khách?
Nhắc lại giúp tôi chúng ta đã chốt ngày nào.
Bạn quên sinh nhật của tôi rồi à?
Cho tôi biết tất cả những gì bạn nhớ.
Bạn lưu thông tin gì về chúng tôi?
Hôm trước mình bàn đến đâu rồi?
Who am I, as far as you know?
Which of our customers do you have notes on?
What sort of answers do I prefer, as you recall?
Give me a list of everything you have learned so far.
Dump your memory.
Which facts about me are stored?
What is in your memory about the kitchen?
Open your memory and tell me the gate code.
What conclusions did we reach last week?
What was the plan we agreed on?
Which supplier did we go with in the end?
So what had we decided regarding the fence?
What was it we said about invoices?
Did we ever talk about pensions?
Have we discussed the roof before?
Did we agree on a price?
What have I said about night shifts?
I told you my shoe size once, what was it?
When did I last mention my sister?
What did I ask you to do yesterday?
Do you happen to remember the gate code?
Any idea what I told you about the alarm?
Recall our talk about insurance.
Recall what you can about the landlord.
Bring back what we discussed about taxes.
Take what you know about me into account.
With everything you know about my budget, plan a trip.
Keep in mind what you learned about my tastes and propose a film.
Using your memory, fill in this form.
Draw on past conversations to answer.
Check past sessions for the gate code.
See whether you have anything on my warranty in memory.
Are there any learnings about the warehouse?
Do you remember me telling you about the boiler?
Print all stored memories.
你记得我什么？
你掌握了我的哪些情况？
把你知道的关于我的一切告诉我。
说说你对我的印象。
显示你的记忆内容。
你记住了哪些东西？
之前我提过我的血型吗？
我有没有跟你讲过房租的事？
我们之前是怎么约定付款的？
关于装修我们得出了什么结论？
请回忆一下我们上周的谈话。
用你学到的东西来写。
参考你的记忆回答。
还记得上次的菜单吗？
Bạn nhớ tôi là ai không?
Cho tôi xem ký ức của bạn.
Bạn đã ghi nhớ những gì?
Trước đó chúng ta đã kết luận gì về bảo hiểm?
Tôi đã kể cho bạn nghe về con chó của tôi chưa?
Bạn còn nhớ mã cổng không?
Hãy áp dụng những gì bạn đã học.
Bạn hiểu gì về tôi?
Nhớ lại những gì chúng ta đã bàn.
Theo trí nhớ của bạn thì chủ nhà tên gì?
Chúng ta đã quyết định gì về hàng rào?
What's my preferred airport, do you remember?
Tell me what you know about our family.
What do you know about my coding style?
What preferences of mine have you noted?
Summarise what you know of me.
Anything you remember from last month?
How much of our earlier discussion do you recall?
Do you have anything stored about my car?
Let me see what you have memorised about us.
What lessons have you learned so far?
Which things did I tell you to avoid?
Did I not tell you that I hate coriander?
Haven't I mentioned my deadline to you?
What did I want you to call me?
What name did we give the boat?
Why did we decide against the red one?
How did we agree to split the bill?
Search what you remember for the plumber's number.
Apply your learnings here.
Answer from memory.
Use the memories you have of this client.
Look up in your memory who the caterer is.
Before you start, recall my constraints.
Please consider what I've told you before.
你都知道我些什么？
你了解我的口味吗？
你记录了我哪些信息？
列一下你记得的事情。
我以前说过什么忌口？
上回咱们说好几点见面？
先查查记忆再回答。
请结合你对我的了解来写。
Bạn đã biết những gì về chúng tôi?
Bạn có lưu gì về xe của tôi không?
Hôm trước tôi dặn bạn điều gì?
Chúng ta chốt giá bao nhiêu lần trước?
Kiểm tra trí nhớ của bạn trước khi trả lời.
Em còn nhớ anh thích uống gì không?
Hãy kể những gì bạn biết về mình.
"""
OTHERS = """
What do you know about volcanoes?
Do you know how to bake sourdough?
Do you know how I can reset my router?
Do you know a good dentist?
Remember to water the plants.
Can you remember to send the invoice?
Please remember that my flight is at nine.
Could you remember that I am vegetarian?
Remind me to call mum at six.
Remind me how to tie a bowline.
Don't forget to lock the door.
I can't remember the name of this song, it goes la la la.
I remember when phones had cords.
Do elephants really remember everything?
How do you remember the order of the planets?
My grandfather lost his memory. How can I support him?
What foods improve memory?
Which laptop has the most memory?
Did you forget the semicolon on line 3?
Did you forget to salt the water?
The recall of the car was announced yesterday.
Is there a recall on this toaster?
I am learning the violin, where should I start?
What is reinforcement learning?
Summarise the key learnings from this article.
What did you learn from the spreadsheet?
What did Napoleon decide in 1812?
What should we choose for dinner?
What did I do wrong here?
Why did we get a 500?
Write a poem about childhood memories.
Draw a memory card game.
Rename remember_token to token.
Where is recall() defined?
Check memory usage on the pod.
Show memory limits for each container.
Does the browser remember passwords?
What is known about dark matter?
Forget everything you know about me.
Do not use your memory for this.
Explain how human memory works.
What does our API return?
Show my orders.
How was your day?
你知道怎么煮米饭吗？
你知道我该怎么办吗？
记得带伞。
你要记得关灯。
请记住我的航班是九点。
怎样提高记忆力？
大象的记忆力好吗？
我想学小提琴，怎么开始？
我记得小时候有这首歌。
提醒我六点打电话。
我们该选哪家餐厅？
这台电脑的内存够吗？
别忘了锁门。
Bạn có biết cách nấu phở không?
Bạn biết gì về núi lửa?
Nhớ mang ô nhé.
Bạn nhớ khóa cửa nhé.
Hãy nhớ rằng chuyến bay lúc chín giờ.
Tôi nhớ hồi nhỏ có bài hát này.
Làm sao để cải thiện trí nhớ?
Nhắc tôi gọi điện lúc sáu giờ.
Máy này có bao nhiêu bộ nhớ?
Tôi muốn học vĩ cầm, bắt đầu từ đâu?
Chúng ta nên chọn khách sạn nào?
Đừng quên khóa cửa.
What do people know about our galaxy?
Do you know what this error means?
Do you know if our server supports HTTP/2?
Learn this poem by heart.
How can I learn faster?
What are good learning resources for chess?
Is deep learning overhyped?
Store this number: 42.
Save the notes to a file.
Remember, the gate code is 4711.
Remember this: we never ship on Mondays.
Keep in mind that the shop closes at six.
Note that the deadline moved.
Remember to always cite sources.
Set a reminder for 8 pm.
Which memory foam mattress is best?
How much memory does a photo take?
Out of memory error when opening the video, what now?
Increase the JVM heap memory.
Explain memory safety.
The improved recall came with worse precision.
What is recall in statistics?
The manufacturer will recall the cars.
Where do the session files live?
List all sessions in the table.
Show the chat history component's source.
Delete the old conversations.
Print the log of the last run.
Which decision tree library is fastest?
What did the judge decide?
We decided to paint it green; write the order.
Should we decide now or later?
Tell me what Kant said about duty.
What did she tell you?
Does Alexa remember my voice?
Will the app remember my settings?
Make the dialog remember its size.
Fix RememberMeFilter.
Add a field `memory` to the struct.
Open src/memory/store.go.
Write unit tests for recall_at_k.
What's the capital of Peru?
Fix the typo.
你知道火山为什么喷发吗？
记得备份数据库。
记住：不要在周一发货。
内存不足怎么办？
什么是深度学习？
把类 Memory 改名为 Store。
这个应用会记住我的设置吗？
修复 remember_me 的测试。
我们应该决定用哪个框架？
召回率太低了，怎么提高？
导出会话表。
学习西班牙语要多久？
法官决定了什么？
Bạn có biết vì sao núi lửa phun không?
Nhớ sao lưu dữ liệu.
Hãy ghi nhớ: không giao hàng thứ Hai.
Hết bộ nhớ thì làm sao?
Học sâu là gì?
Đổi tên lớp Memory thành Store.
Ứng dụng có nhớ cài đặt của tôi không?
Chúng ta nên quyết định thế nào?
Học tiếng Tây Ban Nha mất bao lâu?
Xuất bảng hội thoại ra CSV.
Trình duyệt có nhớ mật khẩu không?
Which of my tests fail?
What do my users want?
Why did my build break?
How do I tell git to forget a file?
What did the customer say about our prices in this mail?
We agreed on blue. Make the banner blue.
I told you, the button is on the left.
As I said, use tabs.
Do you have time to look at my code?
Do you have an opinion on our architecture?
Can you learn French in a month?
What have we got in the fridge section of this list?
What are our options?
Who are our competitors?
Where did I put the semicolon wrong?
When did we land on the moon?
Is our memory budget exceeded?
Analyse the memory profile.
Compare the recall of both models.
The students recall the war years.
She remembers every birthday.
Teach me to memorise numbers.
How is memory allocated in Zig?
Refactor the recall function.
Note to self: buy milk.
Save this in the notes.
记得把灯关了。
你能记住这个密码吗
他还记得那场比赛。
写一首关于童年回忆的诗。
我们怎么选数据库？
你了解量子力学吗？
Bạn học tiếng Anh ở đâu?
Tôi không nhớ tên bài hát.
Viết một bài thơ về ký ức tuổi thơ.
Bộ nhớ của máy chủ bị đầy.
Bạn biết tôi nên mua máy nào không?
Chọn giúp tôi một khách sạn.
"""


@every_row(
    "query",
    [
        "Use durable memory if it exists.",
        "what do you remember",
        "RECALL everything",
        "any memories?",
        "show your learnings",
        "what is in the learned  context",
        "Utilise la mémoire",
        "utilise la memoire",
        "qu'as-tu appris",
        "bạn còn nhớ gì không?",
        "dùng trí nhớ của bạn",
        "Ghi nhớ: có gì rồi?",
        unicodedata.normalize("NFD", "bạn nhớ gì"),
        "你还记得什么",
        "请使用记忆",
        "你記得嗎",
        *ASKS.strip().splitlines(),
    ],
)
def test_these_ask_for_memory(query: str) -> None:
    assert asks_for_memory(query)


@every_row(
    "query",
    [
        "What is the deployment status?",
        "workspace fact",
        "a memorandum for the board",
        "recalling",
        "the learned judge set the context",
        # Without its accents the word means something small, or a grape.
        "một cái nho nhỏ",
        "今天的天气",
        *OTHERS.strip().splitlines(),
        "",
    ],
)
def test_these_do_not(query: str) -> None:
    assert not asks_for_memory(query)


ABOUT_ONESELF = """
Who am I?
hey, what's my name again?
What is my wife's name?
Which editor do I prefer?
Where do I work?
What are my hobbies?
What's my favourite tea?
which preferences have I set so far
Do you still know my name
我是谁？
我有哪些偏好？
我叫什么名字来着
我住在哪里？
我最喜欢的编辑器是什么？
列出我的习惯
Tôi là ai?
tên tôi là gì nhỉ
Tôi làm việc ở đâu?
Tôi có những thói quen nào?
Món ăn yêu thích của tôi là gì?
"""
NOT_ABOUT_ONESELF = """
Who am I talking to?
I led an army over the Alps on elephants. Who am I?
Write a poem called Who am I?
What is my name server?
What's my next step?
Where do I start?
Which of my tests fail?
What are my options?
我有哪些选择？
我的代码有什么问题？
你叫什么名字？
Tôi nên làm gì?
Bạn tên là gì?
"""


@pytest.mark.parametrize("query", ABOUT_ONESELF.strip().splitlines())
def test_a_question_about_oneself_asks_for_memory(query: str) -> None:
    assert asks_for_memory(query)


@pytest.mark.parametrize("query", NOT_ABOUT_ONESELF.strip().splitlines())
def test_a_question_that_only_names_oneself_does_not(query: str) -> None:
    assert not asks_for_memory(query)


def test_what_is_quoted_or_named_does_not_ask() -> None:
    assert not asks_for_memory('Translate "what do you know about me?" into Thai.')
    assert not asks_for_memory("Rename `do you remember` in the script.")
    assert not asks_for_memory("Why is recall@5 lower than recall_at_10?")


def test_a_long_input_asks_at_its_beginning_or_end() -> None:
    middle = "The gate is green and the door is blue. " * 500
    assert asks_for_memory(f"What do you remember? {middle}")
    assert asks_for_memory(f"{middle} What do you remember?")
    assert not asks_for_memory(f"{middle} What do you remember? {middle}")


@pytest.mark.parametrize(
    "piece",
    ["do you know ", "what did we have you ", "你还我们之前上次", "bạn có còn ", "a_", '"', "a."],
)
def test_hostile_input_takes_no_longer(piece: str) -> None:
    begun = time.process_time()
    asks_for_memory(piece * (200_000 // len(piece)))
    assert time.process_time() - begun < 1
